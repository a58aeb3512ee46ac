import type { Stats } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { absent, inWords } from "./files";

const STICKY = 0o1000;
const OTHERS_WRITE = 0o022;
const EVERYONE_WRITES = 0o002;
const MAX_LINKS = 20;

export const isTrusted = (uid: number) => uid === 0 || uid === process.getuid?.();
export const isWritableByOthers = ({ mode }: Stats) => (mode & OTHERS_WRITE) !== 0;
export const foreign = (uid: number) => `belongs to the user with the id ${uid}, not to root or the agent's own user.`;
const isOwnGroup = (gid: number) => gid === 0 || gid === process.getgid?.();

/** Returns why another user could put another file in the place of this one, which is `what`; the file itself is judged when it is open. */
export async function faultOnTheWay(path: string, what: string, links = 0): Promise<string | undefined> {
  if (links > MAX_LINKS) return `${path} is reached by too many links.`;
  const names = path.split(sep).filter(Boolean);
  for (let depth = 0; depth <= names.length; depth++) {
    const each = sep + names.slice(0, depth).join(sep);
    const found = await lstat(each).catch(absent).catch(inWords(each, "read"));
    if (!found) return undefined;
    const fault = faultOf(each, found, what);
    if (fault) return fault;
    if (found.isSymbolicLink()) return faultOnTheWay(join(resolve(dirname(each), await readlink(each)), ...names.slice(depth)), what, links + 1);
  }
}

function faultOf(path: string, found: Stats, what: string) {
  const isLink = found.isSymbolicLink();
  if (!(isLink || found.isDirectory())) return undefined;
  if (!isTrusted(found.uid))
    return `${path}, on the way to ${what}, ${isLink ? "is a link that " : ""}${foreign(found.uid)} Name a file that only root can replace.`;
  // In a sticky directory only the owner of an entry may replace it; a user's own group is often that user alone.
  const open = isOwnGroup(found.gid) ? EVERYONE_WRITES : OTHERS_WRITE;
  const isOpen = !isLink && (found.mode & open) !== 0 && (found.mode & STICKY) === 0;
  return isOpen ? `Other users may write in ${path}, on the way to ${what}: chmod go-w ${path}` : undefined;
}
