import { constants, mkdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { argvOf, hostWord, serverWord } from "./arguments";
import type { Attributes } from "./files";
import { type HeldDirectory, withDirectory } from "./held-directory";
import type { Host } from "./host";
import { runProgram } from "./program";

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Makes a directory of the agent's own user in one that exists, with this mode. Rejects with EEXIST where the name is taken. */
export const makeDirectory = (path: string, mode: number) => withDirectory(dirname(path), (parent) => makeIn(parent, path, mode));

async function makeIn(parent: HeldDirectory, path: string, mode: number) {
  const umask = process.umask(0); // so that nothing is left to be changed afterwards, by a name that may lead elsewhere then
  try {
    mkdirSync(parent.at(basename(path)), { mode });
  } finally {
    process.umask(umask);
  }
}

/**
 * Makes a missing directory again for its former owner, and only gives it away where nothing can take its place meanwhile. An
 * existing directory stays as it is.
 */
export function restoreDirectory(host: Host, path: string, { mode, uid, gid }: Attributes) {
  return withDirectory(dirname(path), async (parent) => {
    if (uid === process.getuid?.() && gid === process.getgid?.()) return makeIn(parent, path, mode).catch(present);
    const argv = argvOf("mkdir", "-p", "-m", hostWord(mode.toString(8)), "--", serverWord(basename(path)));
    if (!parent.isOwn()) return runProgram(host, argv, { user: { uid, gid }, directory: dirname(path) });
    await makeIn(parent, path, 0o700).catch(present);
    const handle = await open(parent.at(basename(path)), DIRECTORY);
    try {
      await handle.chown(uid, gid);
      await handle.chmod(mode);
    } finally {
      await handle.close();
    }
  });
}

function present(error: NodeJS.ErrnoException) {
  if (error.code !== "EEXIST") throw error;
}
