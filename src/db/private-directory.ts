import { chmodSync, type Dirent, lstatSync, readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";

/** Permissions of others than the owner. */
const OTHERS = 0o077;
const ALL = 0o777;
/** The names of certitude's own files in DATA_DIR. Other files keep their modes: an executable in the same directory must still start. */
const OWN = /^(\.s\.PGSQL\.5432|admin\.sock|audit-spool|backup-[0-9a-f]{8}|demo|lock(-journal)?|objects|postgres(\.new)?|secrets(-[0-9a-f]+)?\.json(\.\d+)?)$/;
/** The files that a new directory may hold: hidden ones, and those that mkfs leaves at the top of a volume. */
const UNIMPORTANT = /^(\..*|lost\+found)$/;

/**
 * Returns why a directory cannot hold secrets, as a sentence: it is another user's, or others use it for something else.
 * Undefined also where there is none.
 */
export function directoryFault(path: string) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (found.uid !== process.geteuid?.())
    return `DATA_DIR ${path} belongs to another user (${found.uid}), who could read every secret in it. Give it to this user (${process.geteuid?.()}) with chown, or make a directory below it and name that.`;
  if ((found.mode & OTHERS) === 0 || !found.isDirectory()) return;
  const names = readdirSync(path);
  const other = names.find((name) => !UNIMPORTANT.test(name));
  if (other && !names.some((name) => OWN.test(name)))
    return `DATA_DIR ${path} is open to other users and holds something else ("${other}"). It would be closed to them: make a directory below it and name that.`;
}

/**
 * Closes an existing DATA_DIR to other users: our directories get 0700, our files 0600, whatever the umask was. Throws, in a
 * sentence, where it cannot.
 */
export function closeDirectory(path: string, log?: Pick<Logger, "warn">) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return;
  const fault = directoryFault(path);
  if (fault) throw new Error(fault);
  close(path, found);
  if ((found.mode & OTHERS) !== 0) log?.warn({ path, mode: (found.mode & ALL).toString(8) }, "DATA_DIR was open to other users, permissions tightened");
  for (const entry of readdirSync(path, { withFileTypes: true })) if (OWN.test(entry.name)) closeEntry(path, entry);
}

function closeEntry(parent: string, entry: Dirent) {
  const path = join(parent, entry.name);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found || found.isSymbolicLink()) return; // a link is as open as what it leads to
  close(path, found);
  if (found.isDirectory()) for (const each of readdirSync(path, { withFileTypes: true })) closeEntry(path, each);
}

function close(path: string, found: Stats) {
  const wanted = found.isDirectory() ? 0o700 : 0o600;
  const isOwn = found.uid === process.geteuid?.();
  if ((found.mode & ALL) === wanted && isOwn) return;
  try {
    if (!isOwn) throw new Error("it belongs to another user");
    chmodSync(path, wanted);
    if ((statSync(path).mode & OTHERS) !== 0) throw new Error("its file system keeps no permissions");
  } catch (error) {
    throw new Error(`DATA_DIR: ${path} cannot be closed to other users: ${(error as Error).message}.`, { cause: error });
  }
}
