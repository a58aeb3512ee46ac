import { Database } from "bun:sqlite";
import { join } from "node:path";

/** A lock of the operating system, through SQLite: it dies with the process, so none is ever left behind. `name` is the setting that chose the directory. */
export function lockDirectory(path: string, name: string) {
  let lock: Database | undefined;
  try {
    lock = new Database(join(path, "lock"));
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("BEGIN EXCLUSIVE");
  } catch (error) {
    lock?.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY")
      throw new Error(`${name} ${path} cannot be locked: ${(error as Error).message}.`, { cause: error });
    throw new Error(`${name} ${path} is in use by another certitude. Stop that one first, or choose another ${name}.`);
  }
  return () => lock?.close();
}
