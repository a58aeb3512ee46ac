import { isDeepStrictEqual } from "node:util";
import { bytesOf, readSnapshot } from "../host/files";
import { foreign } from "../host/foreign";
import type { Transaction } from "../transaction/transaction";
import type { Setting } from "./setting";

type Json = { [name: string]: unknown };
/** A list in a JSON file of settings: the names that lead to it. */
type List = { file: string; names: [string, ...string[]] };

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

async function read(file: string) {
  const found = await readSnapshot(file);
  if (!found) return undefined;
  const text = bytesOf(found).toString("utf8");
  try {
    const root: unknown = JSON.parse(text);
    if (isObject(root)) return { text, root };
  } catch (error) {
    throw new Error(`${file} is not JSON, and its reader takes nothing of it: ${foreign((error as Error).message)}. Correct it.`);
  }
  throw new Error(`${file} is not an object of JSON. Correct it.`);
}

/** The entries of the list; none where there is no list. */
export async function readList({ file, names }: List): Promise<string[]> {
  let value: unknown = (await read(file))?.root;
  for (const name of names) value = isObject(value) ? value[name] : undefined;
  if (value !== undefined && !Array.isArray(value)) throw new Error(`${file} has something else than a list as ${names.join(".")}. Correct it.`);
  return (value ?? []).filter((each: unknown) => typeof each === "string");
}

/** The same settings with another list; what would be empty then is left out. */
function withList(settings: Json, [name = "", ...more]: string[], list: string[]): Json {
  const inner = isObject(settings[name]) ? settings[name] : {};
  const value = more.length === 0 ? list : withList(inner, more, list);
  const { [name]: _, ...rest } = settings;
  if (Object.keys(value).length === 0) return rest;
  return name in settings ? { ...settings, [name]: value } : { ...rest, [name]: value };
}

/**
 * One entry of a list, which others may fill too. The file keeps its indentation, and goes where the agent has made it and
 * nothing else is left.
 */
export function jsonEntry(list: List, entry: string): Setting {
  const { file, names } = list;
  const claim = `${entry} in ${names.join(".")} of ${file}`;
  const made = `made ${file}`;

  async function change(transaction: Transaction, entries: string[], isOurs: boolean) {
    const before = await read(file);
    const root = withList(before?.root ?? {}, names, entries);
    if (before && isDeepStrictEqual(root, before.root)) return;
    if (Object.keys(root).length === 0 && isOurs) return transaction.editShared(file, null);
    const indent = before ? (/\n([ \t]+)\S/.exec(before.text)?.[1] ?? "") : "  ";
    const end = before && !before.text.endsWith("\n") ? "" : "\n";
    await transaction.editShared(file, JSON.stringify(root, null, indent) + end);
  }

  return {
    async observe() {
      return (await readList(list)).includes(entry) ? [] : [`${file} does not list it in ${names.join(".")}`];
    },

    async install(transaction) {
      const entries = await readList(list);
      const isThere = entries.includes(entry);
      if (isThere && !transaction.owns(claim) && !transaction.isOthers(claim)) return;
      if (transaction.isOthers(made) || !(await readSnapshot(file))) await transaction.addReference(made);
      if (!isThere) await change(transaction, [...entries, entry], false);
      await transaction.addReference(claim);
    },

    async remove(transaction) {
      const isOurs = transaction.owns(made);
      if (await transaction.dropReference(claim))
        await change(
          transaction,
          (await readList(list)).filter((each) => each !== entry),
          isOurs,
        );
      await transaction.dropReference(made);
    },
  };
}
