import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, readlinkSync, type Stats } from "node:fs";
import { join, resolve, sep } from "node:path";

/** A directory that is held open: a name in it stays a name in it, whatever is renamed or linked on the way there meanwhile. */
export type HeldDirectory = {
  /** Returns a path to what has this name in it; the file's own link, if it is one, is the caller's to refuse. */
  at(name: string): string;
  attributes(): Stats;
  /** Returns whether only root and the agent's user can put anything there. */
  isOwn(): boolean;
  /** Writes to disk what has been renamed and removed in it. */
  flush(): void;
};

/** Linux's flag for a handle that only leads somewhere: it asks no right to read, and waits for nothing. */
const O_PATH = 0o10000000;
const HANDLE = O_PATH | constants.O_DIRECTORY;
const HANDLE_OF_NO_LINK = HANDLE | constants.O_NOFOLLOW;
const MAX_LINKS = 40;
const FOR_OTHERS_TO_WRITE = 0o022;

/**
 * Opens a directory for as long as `use` takes. Rejects with the system's error where there is none, and where an untrusted
 * link is on the way.
 */
export async function withDirectory<Result>(path: string, use: (directory: HeldDirectory) => Promise<Result>): Promise<Result> {
  const handle = openDirectory(resolve(path));
  try {
    return await use({
      at: (name) => within(handle, name),
      attributes: () => fstatSync(handle),
      isOwn: () => isOwn(handle),
      flush: () => flush(handle),
    });
  } finally {
    closeSync(handle);
  }
}

const within = (handle: number, name: string) => `/proc/self/fd/${handle}/${name}`;

/** Goes there as the kernel does; by what name it came to the end shows whether it followed a link. */
function openDirectory(path: string) {
  try {
    const handle = openSync(path, HANDLE);
    if (readlinkSync(`/proc/self/fd/${handle}`) === path) return handle;
    closeSync(handle);
  } catch {
    // The walk reports what is in the way.
  }
  return walk(path);
}

/** Goes there name by name, each below what is held open already, and by none but trusted links. */
function walk(path: string) {
  const names = namesOf(path);
  let handle = openAt(sep, HANDLE, sep);
  try {
    for (let links = 0, name = names.shift(); name !== undefined; name = names.shift()) {
      const target = linkIn(handle, name, path);
      if (target !== undefined) {
        if (++links > MAX_LINKS) throw new Error(`${path} leads in a circle of symbolic links.`);
        names.unshift(...namesOf(target));
        if (!target.startsWith(sep)) continue;
      }
      const next = target === undefined ? openAt(within(handle, name), HANDLE_OF_NO_LINK, path) : openAt(sep, HANDLE, sep);
      closeSync(handle);
      handle = next;
    }
    return handle;
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

function isOwn(handle: number) {
  const { uid, mode } = fstatSync(handle);
  return isTrusted(uid) && (mode & FOR_OTHERS_TO_WRITE) === 0;
}

const isTrusted = (uid: number) => uid === 0 || uid === process.getuid?.();
const namesOf = (path: string) => path.split(sep).filter((name) => name !== "" && name !== ".");

/**
 * Returns the target of the link of this name, or undefined where it is no link. A link that others could have made may lead a
 * privileged agent anywhere.
 */
function linkIn(handle: number, name: string, path: string) {
  const place = within(handle, name);
  const found = named(path, () => lstatSync(place));
  if (!found.isSymbolicLink()) return undefined;
  const isOthers = !isTrusted(found.uid);
  if (isOthers || !isOwn(handle)) {
    const link = join(readlinkSync(`/proc/self/fd/${handle}`), name);
    const fault = isOthers ? "a symbolic link of another user" : "a symbolic link in a directory that others may write";
    throw new Error(`${link}, on the way to ${path}, is ${fault}. It is not followed.`);
  }
  return readlinkSync(place);
}

const openAt = (place: string, flags: number, path: string) => named(path, () => openSync(place, flags));

/** Names the path itself in the system's error, instead of the way by which it was tried. */
function named<Result>(path: string, attempt: () => Result) {
  try {
    return attempt();
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw Object.assign(new Error(`${path}: ${message.split(", ")[0]}`, { cause: error }), { code });
  }
}

function flush(handle: number) {
  const readable = openSync(within(handle, "."), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(readable);
  } finally {
    closeSync(readable);
  }
}
