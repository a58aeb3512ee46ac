import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { isTaken, lockFile } from "#db/lock";
import { inWords } from "./host/files";

/** How long a command waits for another one, in milliseconds. */
const PATIENCE_MS = 30_000;
/** The name of the lock, which stays beside the policy: a lock of the operating system, through SQLite, that ends with its process. */
export const lockOf = (path: string) => `${path}.lock`;

/** Does `work` while no other command changes the policy file at `path`, and makes its directory where there is none. */
export async function inTurn<Done>(path: string, work: () => Promise<Done>) {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 }).catch(inWords(dirname(path), "made"));
  const lock = take(path);
  try {
    return await work();
  } finally {
    lock.close();
  }
}

function take(path: string) {
  try {
    return lockFile(lockOf(path), PATIENCE_MS);
  } catch (error) {
    if (isTaken(error)) throw new Error(`Another command is changing ${path}. Try again once it has ended.`);
    throw new Error(`${path} cannot be changed: ${lockOf(path)} cannot be locked. Run this as the user to whom the directory belongs, mostly root.`);
  }
}
