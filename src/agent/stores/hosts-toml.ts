import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { hasMarker, readBlock, withBlock, withoutBlock } from "../settings/block";
import { asRead, changeText, readText } from "../settings/shared-text";
import type { Transaction } from "../transaction/transaction";

/** The names in containerd's hosts.toml for a registry: an anchor's file, or a client certificate's file and its key's. */
export type Names = [setting: "ca" | "client", ...files: string[]];
type Settings = { ca?: unknown; client?: unknown };

const BLOCK = "certificates";
const pathIn = (directory: string) => join(directory, "hosts.toml");

/**
 * Returns why containerd would not read the files: a hosts.toml that does not name them. Without that file it reads every *.crt
 * and *.cert of the directory, so the agent makes none.
 */
export async function observeHosts(directory: string, names: Names) {
  const text = await readText(pathIn(directory));
  if (!text) return [];
  if (hasMarker(text, BLOCK) && !readBlock(text, BLOCK)) return ["hosts.toml has lost a marker of the agent's lines"];
  const settings = parse(text);
  return settings && isNamed(settings, names, directory) ? [] : [`hosts.toml does not name ${names[1]}`];
}

export async function addToHosts(transaction: Transaction, directory: string, names: Names) {
  const path = pathIn(directory);
  if (!(await readText(path))) return;
  const present = await readdir(directory);
  await changeText(transaction, path, (text) => {
    const [setting, ...files] = names;
    const foreign = parse(withoutOurs(text));
    if (!foreign) throw new Error(`${path} is not valid TOML, so that containerd does not read it either. Mend it first.`);
    if (isNamed(foreign, names, directory)) return withOurs(text, othersIn(text, names, present));
    if (setting in foreign) throw new Error(`${path} has a setting ${setting} already, and TOML allows only one. Add ${JSON.stringify(files)} to it.`);
    return withOurs(text, [...othersIn(text, names, present), names]);
  });
}

export async function removeFromHosts(transaction: Transaction, directory: string, names: Names) {
  if (!(await readText(pathIn(directory)))) return;
  const present = await readdir(directory);
  await changeText(transaction, pathIn(directory), (text) => withOurs(text, othersIn(text, names, present)));
}

/** Settings of the root stand before the first table, so the agent's are the beginning. */
function withOurs(text: string, entries: Names[]) {
  const filesOf = (wanted: string) => entries.flatMap(([setting, ...files]) => (setting === wanted ? [files] : []));
  const settings = Object.entries({ ca: filesOf("ca").flat(), client: filesOf("client") }).filter(([, value]) => value.length > 0);
  const lines = settings.map(([setting, value]) => `${setting} = ${asRead(JSON.stringify(value))}`);
  return (lines.length > 0 ? withBlock("", BLOCK, lines) : "") + withoutOurs(text);
}

const withoutOurs = (text: string) =>
  withoutBlock(
    text,
    BLOCK,
    text.split(/\r?\n/).filter((line) => /^(ca|client) = \[/.test(line)),
  );

/** The agent's own entries but this one, and those that point to missing files. */
function othersIn(text: string, names: Names, present: string[]): Names[] {
  const { ca, client } = parse(readBlock(text, BLOCK)?.join("\n") ?? "") ?? {};
  const entries = [...listOf(ca).map((files): Names => ["ca", ...files]), ...listOf(client).map((files): Names => ["client", ...files])];
  return entries.filter(([setting, ...files]) => [setting, ...files].join("/") !== names.join("/") && files.every((file) => present.includes(file)));
}

function isNamed(settings: Settings, [setting, ...files]: Names, directory: string) {
  const absolute = (each: string[]) => each.map((file) => resolve(directory, file)).join("\n");
  return listOf(settings[setting]).some((each) => absolute(each) === absolute(files));
}

/** A file, a list of files, or a list of pairs of files; each as a list. */
const listOf = (value: unknown): string[][] => [value].flat().flatMap((each) => (each === undefined ? [] : [[each].flat().map(String)]));

/** The settings, or undefined where that is not TOML. */
function parse(text: string): Settings | undefined {
  try {
    return Bun.TOML.parse(Buffer.from(text, "latin1").toString());
  } catch {
    return;
  }
}
