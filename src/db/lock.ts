import { Database } from "bun:sqlite";
import { join } from "node:path";

const FAULTS: Record<string, string> = {
  SQLITE_FULL: "there is no space left on its disk. Make room there",
  SQLITE_CANTOPEN: "its file lock must be a plain file, in a directory that this user may write",
};

/**
 * Takes a lock of the operating system on a file of its own, through SQLite: it dies with the process, so none is ever left
 * behind. Throws SQLite's error.
 */
export function lockFile(path: string, patienceMs = 0) {
  const lock = new Database(path);
  try {
    lock.run(`PRAGMA busy_timeout = ${patienceMs}`);
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Returns true where another process has the lock. */
export const isTaken = (error: unknown) => (error as { code?: string }).code === "SQLITE_BUSY";

/** Locks a directory for this process and returns a function that ends the lock. `name` is the setting that chose the directory. */
export function lockDirectory(path: string, name: string) {
  try {
    const lock = lockFile(join(path, "lock"));
    return () => lock.close();
  } catch (error) {
    const { code = "", message } = error as Error & { code?: string };
    if (!isTaken(error)) throw new Error(`${name} ${path} cannot be locked: ${FAULTS[code] ?? message}.`, { cause: error });
    throw new Error(`${name} ${path} is in use by another certitude. Stop that one first, or choose another ${name}.`);
  }
}
