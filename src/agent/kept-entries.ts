import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Entries } from "./host/entries";
import { absent, writeAtomically } from "./host/files";

const NAME = "keystores.json";
/** Of the whole file; more is read by the tools again. */
const MAX_LENGTH = 8 * 1024 * 1024;

const Texts = Type.Array(Type.String());
const Kept = Type.Object({
  version: Type.Literal(1),
  stores: Type.Array(
    Type.Object({
      store: Type.String(),
      stamp: Type.String(),
      entries: Type.Array(Type.Object({ name: Type.String(), kind: Type.String(), certificates: Texts })),
    }),
  ),
});

/**
 * Loads the entries that an earlier process has read by slow tools. Returns a function that saves those this process has used,
 * without passwords; a damaged file counts as none.
 */
export async function openKeptEntries(stateDirectory: string, entries: Entries) {
  const path = join(stateDirectory, NAME);
  let last = (await readFile(path, "utf8").catch(absent)) ?? "";
  for (const { store, ...known } of parse(last)?.stores ?? []) entries.set(store, known);

  return async () => {
    const used = [...entries].flatMap(([store, { digest, stamp, entries: each }]) =>
      digest === undefined || stamp === undefined ? [] : [{ store, stamp, entries: each }],
    );
    const text = JSON.stringify({ version: 1, stores: used } satisfies Static<typeof Kept>);
    if (text === last || text.length > MAX_LENGTH || (used.length === 0 && last === "")) return;
    await writeAtomically(path, text, { mode: 0o600, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 });
    last = text;
  };
}

function parse(text: string): Static<typeof Kept> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(Kept, value) ? value : undefined;
  } catch {
    return undefined;
  }
}
