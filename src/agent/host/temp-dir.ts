import { chmod, chown, lstat, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hostWord } from "./arguments";
import { absent } from "./files";
import type { User } from "./program";

export const makeTempDir = (path: string) => mkdir(path, { mode: 0o700 });

/** Writes a file of any name that only the agent may read and, where it is given, this user. */
export async function writeTemp(directory: string, content = "", user?: User) {
  const path = hostWord(join(directory, crypto.randomUUID()));
  await writeFile(path, content, { mode: 0o600, flag: "wx" });
  if (user) {
    await chown(path, user.uid, user.gid);
    await chmod(directory, 0o711);
  }
  return path;
}

/** Takes a scratch directory away; one that is not the agent's own only has its name. */
export async function removeTempDir(path: string) {
  const found = await lstat(path).catch(absent);
  if (found?.isDirectory() && found.uid === process.getuid?.()) await rm(path, { recursive: true });
}
