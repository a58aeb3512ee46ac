import { dirname, join } from "node:path";
import { makeDirectory } from "../host/directories";
import { findEntry, inWords, missingDirectories, readSnapshot, removeWhole, textOf, withPlace } from "../host/files";
import type { State } from "../state";
import { removeDirectory } from "../transaction/undo-step";
import type { ChallengeRecord } from "./challenge-records";

/** Below a webroot (RFC 8555, 8.3). */
const PLACE = [".well-known", "acme-challenge"];
/** For everyone to read: the web server runs as another user. */
const [FILE_MODE, DIRECTORY_MODE] = [0o644, 0o755];

type Answer = { webroot: string; token: string; answer: string };
type Records = State["challenges"];

/**
 * Finds out whether an answer can be written where a web server finds it, and notes the file; returns what writes it, once that
 * note is on disk.
 */
export async function planAnswer({ webroot, token, answer }: Answer, record: ChallengeRecord, records: Records) {
  const directory = join(webroot, ...PLACE);
  for (const each of [dirname(directory), directory])
    if ((await findEntry(each))?.isSymbolicLink()) throw new Error(`${each} is a symbolic link. It is not followed: name the webroot in which it ends.`);
  const path = join(directory, token);
  const found = await readSnapshot(path);
  if (found && record.path !== path) throw new Error(`${path} is there already, and not of this agent's making. It is left as it is.`);
  if (found?.mode === FILE_MODE && textOf(found) === answer) return async () => {};
  if (record.path !== path) await removeAnswer(record); // the webroot was a link, and leads elsewhere by now
  records.note(Object.assign(record, { path }), await missingDirectories(directory));
  return async () => {
    for (const each of await missingDirectories(directory)) await makeDirectory(each, DIRECTORY_MODE).catch(inWords(each, "made"));
    await withPlace(path, (place) => place.write(answer, place.attributes(FILE_MODE))).catch(inWords(path, "written"));
  };
}

/** Takes an answer's file away, with what a killed agent has left of it. */
export const removeAnswer = async ({ path }: ChallengeRecord) => path === undefined || removeWhole(path);

/**
 * Removes the directories that were made for answers, as far as none is in them. What others have put there meanwhile keeps its
 * directory.
 */
export async function removeEmptied(records: Records) {
  const used = new Set<string>();
  for (const { path = "/" } of records.records.values()) for (let each = dirname(path); !used.has(each); each = dirname(each)) used.add(each);
  for (const each of [...records.directories].toSorted((one, other) => other.length - one.length)) {
    if (used.has(each)) continue;
    if (await findEntry(each)) await removeDirectory(each);
    records.forgetDirectory(each);
  }
}
