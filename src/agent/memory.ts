import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { lockDirectory } from "../db/lock";
import { isUuid } from "../http/schema";
import type { Ledger } from "./change";
import type { DesiredState, Report } from "./exchange";
import { absent, isTemporary, removeFile, writeAtomically } from "./files";
import type { Target } from "./store";

/** What the agent knows of one assignment: where and what it last installed, what it put there, and what it has yet to say. */
export type AssignmentRecord = Ledger & {
  assignmentId: string;
  /** Where it was last proven to be, or first tried; none while it could not even be read. */
  target?: Target;
  /** PEM of what was last proven to be there; none before the first time. */
  certificate?: string;
  /** The version and fingerprint that were last proven. */
  proven?: string;
  /** A failure waits longer each time, unless something else is desired meanwhile. */
  retry?: { proof: string; failures: number; at: number } | undefined;
  /** Not yet acknowledged, the oldest first. */
  reports: Report[];
  /** The last report that was acknowledged, without need to say it again. */
  said?: string;
  /** Whether it was withdrawn, and is kept only to be reported. */
  isGone?: boolean;
};

type Known = { etag: string; state: DesiredState };
export type Memory = Awaited<ReturnType<typeof openMemory>>;

const PRIVATE = 0o600;

export const newRecord = (assignmentId: string): AssignmentRecord => ({ assignmentId, claims: {}, undo: [], reports: [] });

/** The agent's own directory, for this process alone until `close`; it holds private keys, so it is closed to other users. */
export async function openMemory(directory: string) {
  const assignments = join(directory, "assignments");
  await mkdir(assignments, { recursive: true, mode: 0o700 });
  const { mode, uid } = await stat(directory);
  const own = { mode: PRIVATE, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  if (mode & 0o022 || uid !== own.uid)
    throw new Error(`The state directory ${directory} must belong to the agent's user and be closed to others: chmod 700 ${directory}`);
  const close = lockDirectory(directory, "--state-dir");
  for (const each of [directory, assignments]) await clearTemporaries(each);
  const knownPath = join(directory, "desired-state.json");
  const pathOf = (id: string) => join(assignments, `${id}.json`);
  const records = new Map<string, AssignmentRecord>();
  for (const name of await readdir(assignments)) {
    const id = name.slice(0, -".json".length);
    if (isUuid(id)) records.set(id, JSON.parse(await readFile(pathOf(id), "utf8")));
  }

  const saveJson = (path: string, value: object) => writeAtomically(path, JSON.stringify(value), own);

  async function readKnown(): Promise<Known | undefined> {
    const text = await readFile(knownPath, "utf8").catch(absent);
    return text === undefined ? undefined : JSON.parse(text);
  }

  async function save(record: AssignmentRecord) {
    records.set(record.assignmentId, record);
    await saveJson(pathOf(record.assignmentId), record);
  }

  async function forget(id: string) {
    records.delete(id);
    await removeFile(pathOf(id));
  }

  const isOthers = (id: string) => (name: string) => [...records].some(([other, { claims }]) => other !== id && name in claims);

  return { records, save, forget, isOthers, readKnown, saveKnown: (known: Known) => saveJson(knownPath, known), close };
}

/** What a killed agent was writing. */
async function clearTemporaries(directory: string) {
  for (const name of await readdir(directory)) if (isTemporary(name)) await rm(join(directory, name));
}
