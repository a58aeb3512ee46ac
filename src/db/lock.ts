import { Database } from "bun:sqlite";
import { join } from "node:path";

const FAULTS: Record<string, string> = {
  SQLITE_FULL: "there is no space left on its disk. Make room there",
  SQLITE_CANTOPEN: "its file lock must be a plain file, in a directory that this user may write",
};

/** A lock of the operating system, through SQLite: it dies with the process, so none is ever left behind. `name` is the setting that chose the directory. */
export function lockDirectory(path: string, name: string) {
  let lock: Database | undefined;
  try {
    lock = new Database(join(path, "lock"));
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    const { code = "", message } = error as Error & { code?: string };
    if (code !== "SQLITE_BUSY") throw new Error(`${name} ${path} cannot be locked: ${FAULTS[code] ?? message}.`, { cause: error });
    throw new Error(`${name} ${path} is in use by another certitude. Stop that one first, or choose another ${name}.`);
  }
  return () => lock?.close();
}
