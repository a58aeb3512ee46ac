import { constants, type Stats } from "node:fs";
import { lstat, mkdir, open, readlink } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { absent, inWords, writeAtomically } from "../host/files";
import { parsePolicy } from "./parse";
import type { Policy } from "./policy";

/** What a file says, where there is one; or everything that is wrong with it, a sentence each. */
export type Reading = { policy: Policy } | { faults: string[] } | undefined;

const MAX_FILE = 1024 * 1024;
const MODE = 0o644;
const STICKY = 0o1000;
const OTHERS_WRITE = 0o022;
const EVERYONE_WRITES = 0o002;
const MAX_LINKS = 20;

/** Returns what the policy file says; undefined where there is none. It counts only if no other user can change it, by its place neither. */
export async function readPolicyFile(path: string): Promise<Reading> {
  const fault = await faultOnTheWay(path);
  if (fault) return { faults: [fault] };
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    .catch(absent)
    .catch(inWords(path, "read"));
  if (!handle) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile()) return { faults: [`${path} is not a plain file.`] };
    if (!isTrusted(found.uid)) return { faults: [`${path} ${foreign(found.uid)} Give it to root: chown root ${path}`] };
    if (found.mode & OTHERS_WRITE) return { faults: [`${path} may be written by other users, so that it proves nothing: chmod go-w ${path}`] };
    if (found.size > MAX_FILE) return { faults: [`${path} has over 1 MiB, which no policy has.`] };
    const parsed = parsePolicy(await handle.readFile("utf8"));
    return "policy" in parsed ? parsed : { faults: parsed.faults.map((each) => `${path}: ${each}`) };
  } finally {
    await handle.close();
  }
}

/** Writes the policy with its directory, which everyone may read; it stays with the owner that it has. */
export async function writePolicyFile(path: string, policy: Policy) {
  const owner = (await lstat(path).catch(absent)) ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await mkdir(dirname(path), { recursive: true, mode: 0o755 }).catch(inWords(dirname(path), "made"));
  await writeAtomically(path, `${JSON.stringify(policy, null, 2)}\n`, { uid: owner.uid, gid: owner.gid, mode: MODE });
}

const isTrusted = (uid: number) => uid === 0 || uid === process.getuid?.();
const isOwnGroup = (gid: number) => gid === 0 || gid === process.getgid?.();
const foreign = (uid: number) => `belongs to the user with the id ${uid}, not to root or the agent's own user.`;

/** Returns why another user could put another file in the place of this one. */
async function faultOnTheWay(path: string, links = 0): Promise<string | undefined> {
  if (links > MAX_LINKS) return `${path} is reached by too many links.`;
  const names = path.split(sep).filter(Boolean);
  for (let depth = 0; depth <= names.length; depth++) {
    const each = sep + names.slice(0, depth).join(sep);
    const found = await lstat(each).catch(absent).catch(inWords(each, "read"));
    if (!found) return undefined;
    const fault = faultOf(each, found);
    if (fault) return fault;
    if (found.isSymbolicLink()) return faultOnTheWay(join(resolve(dirname(each), await readlink(each)), ...names.slice(depth)), links + 1);
  }
}

function faultOf(path: string, found: Stats) {
  const isLink = found.isSymbolicLink();
  if (!(isLink || found.isDirectory())) return undefined; // the file itself is looked at when it is open
  if (!isTrusted(found.uid))
    return `${path}, on the way to the policy, ${isLink ? "is a link that " : ""}${foreign(found.uid)} Name a file that only root can replace.`;
  // In a sticky directory only the owner of an entry may replace it; a user's own group is often that user alone.
  const open = isOwnGroup(found.gid) ? EVERYONE_WRITES : OTHERS_WRITE;
  const isOpen = !isLink && (found.mode & open) !== 0 && (found.mode & STICKY) === 0;
  return isOpen ? `Other users may write in ${path}, on the way to the policy: chmod go-w ${path}` : undefined;
}
