import { constants, type Stats } from "node:fs";
import { lstat, open, readlink, rename, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { foreign } from "./foreign";
import { type HeldDirectory, withDirectory } from "./held-directory";

/** A file as it was: enough to put it back. */
export type Snapshot = { base64: string; mode: number; uid: number; gid: number };
export type Attributes = Pick<Snapshot, "mode" | "uid" | "gid">;

const TEMPORARY = ".certitude-tmp";
const MAX_FILE = 32 * 1024 * 1024;

/**
 * Returns the path that a file is written to before it takes its name: one for each file, so that a killed agent's draft is
 * found again.
 */
const temporaryOf = (path: string) => `.${basename(path)}${TEMPORARY}`;
export const isTemporary = (name: string) => name.startsWith(".") && name.endsWith(TEMPORARY);

/** The place of a file, in a directory that is held open: whatever is done there is done in the same directory. */
export type FilePlace = {
  /** The file, or undefined where there is none. Only a plain file: never a link, a pipe or a device. */
  read(): Promise<Snapshot | undefined>;
  /** Attributes of a new file of this mode: it belongs to whom its directory belongs. */
  attributes(mode: number): Attributes;
  /**
   * All of the new content or all of the old, whenever the power fails: a temporary file with its attributes, fsync, rename,
   * fsync of the directory.
   */
  write(content: Uint8Array | string, attributes: Attributes): Promise<void>;
  remove(): Promise<void>;
  /** Takes the temporary file away, where there is one: a disk that is read-only complains even about removing nothing. */
  removeTemporary(): Promise<void>;
};

/** Goes to a file's place once, and works there. Rejects with ENOENT where its directory does not exist. */
export const withPlace = <Result>(path: string, use: (place: FilePlace) => Promise<Result>): Promise<Result> =>
  withDirectory(dirname(path), (directory) => use(placeIn(directory, path)));

function placeIn(directory: HeldDirectory, path: string): FilePlace {
  const file = directory.at(basename(path));
  const temporary = directory.at(temporaryOf(path));

  async function removeTemporary() {
    if (await lstat(temporary).catch(absent)) await unlink(temporary);
  }

  async function read() {
    const found = await lstat(file).catch(absent).catch(inWords(path, "read"));
    if (!found) return undefined;
    if (found.isSymbolicLink()) throw new Error(`${path} is a symbolic link to ${foreign(await readlink(file))}. Name the file itself, or remove the link.`);
    if (!found.isFile()) throw new Error(`${path} is not a plain file.`);
    return readPlain(file, path);
  }

  async function write(content: Uint8Array | string, attributes: Attributes) {
    try {
      await removeTemporary();
      await writeNew(temporary, path, content, attributes);
      await rename(temporary, file).catch(inWords(path, "written"));
      directory.flush();
    } catch (error) {
      await removeTemporary();
      throw error;
    }
  }

  async function remove() {
    await unlink(file).catch(absent).catch(inWords(path, "removed"));
    directory.flush();
  }

  function attributes(mode: number) {
    const { uid, gid } = directory.attributes();
    return { mode, uid, gid };
  }

  return { read, attributes, write, remove, removeTemporary };
}

async function readPlain(file: string, path: string): Promise<Snapshot> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(inWords(path, "read"));
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error(`${path} is not a plain file.`);
    if (found.size > MAX_FILE) throw new Error(`${path} has over ${MAX_FILE / 1024 / 1024} MiB, which no trust store has.`);
    const { mode, uid, gid } = found;
    return { base64: (await handle.readFile()).toString("base64"), mode: mode & 0o7777, uid, gid };
  } finally {
    await handle.close();
  }
}

/** The attributes are set on the open file: by its name, the owner of the directory could redirect them to another file. */
async function writeNew(temporary: string, path: string, content: Uint8Array | string, { mode, uid, gid }: Attributes) {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, 0o600).catch(inWords(path, "written"));
  try {
    await handle.writeFile(content).catch(inWords(path, "written"));
    if (process.getuid?.() === 0) await handle.chown(uid, gid);
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export const bytesOf = ({ base64 }: Snapshot) => Buffer.from(base64, "base64");
export const textOf = (snapshot: Snapshot | undefined) => (snapshot ? bytesOf(snapshot).toString("utf8") : "");

/** Returns the file, or undefined where there is none. */
export const readSnapshot = (path: string) =>
  withPlace(path, (place) => place.read())
    .catch(absent)
    .catch(inWords(path, "read"));
export const writeAtomically = (path: string, content: Uint8Array | string, attributes: Attributes) =>
  withPlace(path, (place) => place.write(content, attributes)).catch(inWords(path, "written"));
export const removeFile = (path: string) =>
  withPlace(path, (place) => place.remove())
    .catch(absent)
    .catch(inWords(path, "removed"));

/** Removes a file, with what a killed agent has left of writing it. */
export const removeWhole = (path: string) =>
  withPlace(path, async (place) => {
    await place.removeTemporary();
    await place.remove();
  }).catch(absent);

/** Returns the status of this path, following only trusted links on the way; undefined where nothing has this name. */
export const findEntry = (path: string): Promise<Stats | undefined> =>
  withDirectory(dirname(path), (directory) => lstat(directory.at(basename(path)))).catch(absent);

/** Returns the owner of a directory. Rejects with ENOENT where there is none. */
export const ownerOf = (directory: string) =>
  withDirectory(directory, async (held) => {
    const { uid, gid } = held.attributes();
    return { uid, gid };
  });

/** The directories that are missing on the way to `path` and itself, the outermost first. */
export async function missingDirectories(path: string): Promise<string[]> {
  const missing: string[] = [];
  for (let each = path; (await findEntry(each)) === undefined; each = dirname(each)) missing.unshift(each);
  return missing;
}

const REASONS: Record<string, string> = {
  ENOSPC: "there is no space left on its disk. Make room there",
  EDQUOT: "the disk quota is used up. Make room there",
  EROFS: "its file system is read-only. Mount it writable, choose another place or, where the agent is a service, install it with --write for that directory",
  EACCES: "the agent's user may not. Run the agent as root, or give its user the right",
  EPERM: "the agent's user may not, or the file is immutable. Run the agent as root, or give its user the right",
  ENOENT: "its directory does not exist. Create it first",
  ELOOP: "a symbolic link took its place meanwhile. Name the file itself",
  ENOTDIR: "something on the way to it is not a directory. Correct the path",
  ENAMETOOLONG: "its name is too long for the file system. Choose a shorter one",
};

/** Throws a failed call on a file as a sentence that says what to do about it. */
export const inWords =
  (path: string, action: "made" | "read" | "written" | "removed") =>
  (error: NodeJS.ErrnoException): never => {
    const reason = REASONS[error.code ?? ""];
    throw reason ? new Error(`${path} cannot be ${action}: ${reason}.`, { cause: error }) : error;
  };

/** For a file that is not there; every other failure stays one. */
export function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
