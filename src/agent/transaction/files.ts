import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { sha256 } from "#crypto/sha256";
import { bytesOf, type FilePlace, inWords, readSnapshot, type Snapshot, withPlace } from "../host/files";
import { mayHoldKey } from "../host/pem";
import type { User } from "../host/program";
import type { Directories } from "./directories";
import type { Steps } from "./journal";
import type { OwnershipOf } from "./ownership";

type Writing = {
  mode: number;
  owner?: Partial<User> | undefined;
  takesOver?: boolean;
  /** The file of which the content keeps the private key: another one that has come in its place is left as it is. */
  keeps?: Snapshot | undefined;
};
/** Of a new file that many programs read. */
const SHARED_MODE = 0o644;

const changedMeanwhile = (path: string) => new Error(`${path} was changed by another program meanwhile and was left as it is.`);

function refuseForeign(path: string, before: Snapshot | null) {
  if (before) throw new Error(`${path} is there already, and not by this agent. Move it away, or choose another alias or file name.`);
}

/** A certificate is never written over a private key, also where the agent's own file had that name. */
function refuseKeyLoss(path: string, before: Snapshot | null, content: string) {
  if (before && mayHoldKey(bytesOf(before)) && !mayHoldKey(Buffer.from(content)))
    throw new Error(`${path} holds a private key, which a certificate is not written over. Move it away, or choose another file name.`);
}

/** Changes of files, each with its undo step. */
export function createFiles(
  { journal, isOthers, addStep }: Steps,
  { disclaim }: OwnershipOf,
  { makeDirectory, removeEmptyDirectories, tempDirectory }: Directories,
) {
  /** Works at a file's place: what is found there, and what is written after the step is in the journal, are of the same directory. */
  const atPlace = <Result>(path: string, use: (place: FilePlace, before: Snapshot | null) => Promise<Result>) =>
    withPlace(path, async (place) => use(place, (await place.read()) ?? null)).catch(inWords(path, "written"));

  /** Writes a file that is all ours. One that was there already is refused or, with `takesOver`, kept to be restored on removal. */
  async function writeOwned(path: string, content: string, { mode, owner, takesOver = false, keeps }: Writing) {
    await makeDirectory(dirname(path));
    await atPlace(path, async (place, before) => {
      const owned = journal.ownership[path];
      if (isOthers(path)) throw new Error(`${path} belongs to another assignment on this host. Choose another alias or file name.`);
      if (!owned && !takesOver) refuseForeign(path, before);
      if (keeps && !isDeepStrictEqual(before, keeps)) throw changedMeanwhile(path);
      refuseKeyLoss(path, before, content);
      const after = sha256(content);
      journal.ownership[path] = { digest: after, before: owned?.before === undefined ? before : owned.before };
      await addStep({ kind: "file", path, before, after });
      const { uid, gid } = { ...(before ?? place.attributes(mode)), ...owner };
      await place.write(content, { uid, gid, mode });
    });
  }

  /**
   * Removes files that belong together, or puts back what was there before; where one of them was replaced since by another program,
   * all stay. Returns true where files that are not ours are there now.
   */
  async function restore(...paths: string[]) {
    const files = [];
    for (const [path, { before = null, digest }] of Object.entries(journal.ownership))
      if (paths.includes(path)) files.push({ path, before, digest, now: (await readSnapshot(path)) ?? null });
    const isReplaced = files.some(({ now, digest }) => now && sha256(bytesOf(now)) !== digest);
    for (const { path, before, now } of files) {
      if (now && !isReplaced) await restoreFile(path, before, now);
      await disclaim(path);
    }
    return isReplaced || files.some(({ before, now }) => before && now);
  }

  const restoreFile = (path: string, before: Snapshot | null, seen: Snapshot) =>
    atPlace(path, async (place, now) => {
      if (now?.base64 !== seen.base64) throw changedMeanwhile(path);
      await addStep({ kind: "file", path, before: now, after: before && sha256(bytesOf(before)) });
      await (before ? place.write(bytesOf(before), before) : place.remove());
    });

  /** Writes a file that others write too, or removes it with null, and what was made for it; it keeps its owner and mode. */
  async function editShared(path: string, content: string | Uint8Array | null) {
    await makeDirectory(dirname(path));
    await atPlace(path, async (place, before) => {
      await addStep({ kind: "file", path, before, after: content === null ? null : sha256(content) });
      if (content === null) return place.remove();
      await place.write(content, before ?? place.attributes(SHARED_MODE));
    });
    if (content === null) await removeEmptyDirectories(dirname(path));
  }

  /**
   * Lets a program edit a copy of a file, which then replaces the file; where there is none yet, the program makes it. A given
   * mode holds for both.
   */
  async function editWith(path: string, edit: (copy: string) => Promise<unknown>, mode?: number) {
    await makeDirectory(dirname(path));
    await atPlace(path, async (place, before) => {
      const copy = join(await tempDirectory(), basename(path));
      if (before) await writeFile(copy, bytesOf(before), { mode: 0o600 });
      await edit(copy);
      const content = await readFile(copy);
      await rm(copy);
      await addStep({ kind: "file", path, before, after: sha256(content) });
      await place.write(content, { ...(before ?? place.attributes(SHARED_MODE)), ...(mode !== undefined && { mode }) });
    });
  }

  return { writeOwned, restore, editShared, editWith };
}
