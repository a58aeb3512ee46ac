import { constants } from "node:fs";
import { lstat, open, readlink, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";

/** A file as it was: enough to put it back. */
export type Snapshot = { base64: string; mode: number; uid: number; gid: number };
export type Attributes = Pick<Snapshot, "mode" | "uid" | "gid">;

const TEMPORARY = ".certitude-tmp";
const MAX_FILE = 32 * 1024 * 1024;

/** Where a file is written before it takes its name. One name per file, so that what a killed agent left is found again. */
const temporaryOf = (path: string) => join(dirname(path), `.${basename(path)}${TEMPORARY}`);
export const isTemporary = (name: string) => name.startsWith(".") && name.endsWith(TEMPORARY);

/** The file, or undefined where there is none. Only a plain file: never through a symbolic link in its name, never a pipe or device. */
export async function readSnapshot(path: string): Promise<Snapshot | undefined> {
  await refusePlantedLinks(path).catch(inWords(path, "read"));
  const found = await lstat(path).catch(absent).catch(inWords(path, "read"));
  if (!found) return undefined;
  if (found.isSymbolicLink()) throw new Error(`${path} is a symbolic link to ${await readlink(path)}. Name the file itself, or remove the link.`);
  if (!found.isFile()) throw new Error(`${path} is not a plain file.`);
  if (found.size > MAX_FILE) throw new Error(`${path} has over ${MAX_FILE / 1024 / 1024} MiB, which no trust store has.`);
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(inWords(path, "read"));
  try {
    const { mode, uid, gid } = await handle.stat();
    return { base64: (await handle.readFile()).toString("base64"), mode: mode & 0o7777, uid, gid };
  } finally {
    await handle.close();
  }
}

export const bytesOf = ({ base64 }: Snapshot) => Buffer.from(base64, "base64");
export const textOf = (snapshot: Snapshot | undefined) => (snapshot ? bytesOf(snapshot).toString("utf8") : "");

/** All of the new content or all of the old, whenever the power fails: a temporary file with its attributes, fsync, rename, fsync of the directory. */
export async function writeAtomically(path: string, content: Uint8Array | string, attributes: Attributes) {
  try {
    await writeTemporary(path, content, attributes);
    await rename(temporaryOf(path), path).catch(inWords(path, "written"));
    await sync(dirname(path));
  } catch (error) {
    await removeTemporary(path);
    throw error;
  }
}

/** Takes the temporary file of `path` away, where there is one: a disk that is read-only complains even about removing nothing. */
export async function removeTemporary(path: string) {
  if (await lstat(temporaryOf(path)).catch(absent)) await rm(temporaryOf(path));
}

/** The attributes are set on the open file: by its name, the owner of the directory could redirect them to another file. */
async function writeTemporary(path: string, content: Uint8Array | string, { mode, uid, gid }: Attributes) {
  await removeTemporary(path);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporaryOf(path), flags, 0o600).catch(inWords(path, "written"));
  try {
    await handle.writeFile(content).catch(inWords(path, "written"));
    if (process.getuid?.() === 0) await handle.chown(uid, gid);
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function removeFile(path: string) {
  await rm(path, { force: true }).catch(inWords(path, "removed"));
  await sync(dirname(path));
}

async function sync(path: string) {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The directories that are missing on the way to `path` and itself, the outermost first. */
export async function missingDirectories(path: string): Promise<string[]> {
  await refusePlantedLinks(join(path, "it"));
  const missing: string[] = [];
  for (let each = path; (await lstat(each).catch(absent)) === undefined; each = dirname(each)) missing.unshift(each);
  return missing;
}

/** Attributes for a new file of ours: it belongs to whom its directory belongs. */
export async function attributesIn(directory: string, mode: number): Promise<Attributes> {
  const { uid, gid } = await stat(directory);
  return { mode, uid, gid };
}

/** A link on the way to a file may only be one of root's or the agent's own: anyone else's could lead a privileged agent anywhere. */
async function refusePlantedLinks(path: string) {
  const trusted = [0, process.getuid?.()];
  const names = dirname(path).split(sep).filter(Boolean);
  for (let depth = 1; depth <= names.length; depth++) {
    const each = sep + names.slice(0, depth).join(sep);
    const found = await lstat(each).catch(absent);
    if (!found) return;
    if (found.isSymbolicLink() && !trusted.includes(found.uid))
      throw new Error(`${each}, on the way to ${path}, is a symbolic link of another user. It is not followed.`);
  }
}

const REASONS: Record<string, string> = {
  ENOSPC: "there is no space left on its disk. Make room there",
  EDQUOT: "the disk quota is used up. Make room there",
  EROFS: "its file system is read-only. Mount it writable, or choose another place",
  EACCES: "the agent's user may not. Run the agent as root, or give its user the right",
  EPERM: "the agent's user may not, or the file is immutable. Run the agent as root, or give its user the right",
  ENOENT: "its directory does not exist. Create it first",
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
