import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Returns the keys of SECRETS_KEY in the embedded default's own file, the one that seals first. */
export const readKeys = (file: string): string[] => String(JSON.parse(readFileSync(file, "utf8")).SECRETS_KEY).split(",");

/** Writes the keys of SECRETS_KEY into the file; its other secrets remain. */
export const writeKeys = (file: string, keys: readonly string[]) =>
  replaceFile(file, `${JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), SECRETS_KEY: keys.join() }, null, 2)}\n`);

/** Returns the path of the file as it was while this key sealed: backups of that time need it. */
export const formerFile = (file: string, keyId: string) => join(dirname(file), `secrets-${keyId}.json`);

export const keepFormer = (file: string, keyId: string) => replaceFile(formerFile(file, keyId), readFileSync(file, "utf8"));

/** Writes a file for its owner alone, whole or not at all, and so that it outlives a power cut. */
function replaceFile(file: string, text: string) {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  renameSync(draft, file);
  const directory = openSync(dirname(file), "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
