import { existsSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { lockDirectory } from "#db/lock";
import { isUuid } from "#text/uuid";
import { openChallengeRecords } from "./challenges/challenge-records";
import type { Change } from "./hooks/change";
import { absent, isTemporary, removeFile, writeAtomically } from "./host/files";
import { foreign } from "./host/foreign";
import { keysIn, openKeyRecords } from "./keys/key-records";
import { type Desired, type DesiredState, type Report, readDesiredState } from "./server-client";
import type { Target } from "./store";
import type { Journal } from "./transaction/journal";

/** The agent's record of one assignment: its last installation, the things it owns there, and its unsent reports. */
export type AssignmentRecord = Journal & {
  assignmentId: string;
  /** The target that was last verified, or first tried; undefined while it could not even be read. */
  target?: Target | undefined;
  /** PEM of the certificate that was last verified; none before the first time. */
  certificate?: string | undefined;
  /** The version and fingerprint that were last verified. */
  verifiedRevision?: string | undefined;
  /** A failure waits longer each time, unless something else is desired meanwhile; `why` is for this host alone. */
  retry?: { revision: string; failures: number; at: number; why?: string } | undefined;
  /** Not yet acknowledged, the oldest first. */
  reports: Report[];
  /** The last report that was acknowledged, without its time, so that it is not sent again. */
  lastAcknowledged?: string;
  /** True when it was removed, and is only kept to be reported. */
  isRemoved?: boolean;
  /** A change for which the host's hooks have still to run. */
  change?: Change | undefined;
  /** In words, that a hook failed after the last change. */
  hookFault?: string | undefined;
  /** In words, that an earlier record was lost, and with it what belongs to the agent. */
  damage?: string;
};

type Known = { etag: string; state: DesiredState };
export type State = Awaited<ReturnType<typeof openState>>;

const PRIVATE = 0o600;
const RECORD = /^([0-9a-f-]{36})\.json$/;
/** An assignment's reports that wait for the server; older ones give way. */
const MAX_WAITING = 20;

/** Returns the revision that is verified: another revision is installed and verified again. */
export const revisionOf = ({ version, fingerprintSha256 }: Pick<Desired, "version" | "fingerprintSha256">) =>
  [version, fingerprintSha256].map(asText).join(" ");

/** Whatever a server sends in the place of a number or a text has a text of its own. */
const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

export const newRecord = (assignmentId: string): AssignmentRecord => ({ assignmentId, ownership: {}, undo: [], reports: [] });

/**
 * Adds a report of a result observed `now`, or returns false where it repeats the last one. It is on disk with the record's
 * next `save`.
 */
export function noteReport(record: AssignmentRecord, result: Omit<Report, "assignmentId" | "observedAt">, now: Date) {
  const report: Report = { assignmentId: record.assignmentId, ...result };
  const last = record.reports.at(-1);
  if ((last ? timelessJson(last) : record.lastAcknowledged) === timelessJson(report)) return false;
  record.reports = [...record.reports, { ...report, observedAt: now.toISOString() }].slice(-MAX_WAITING);
  return true;
}

/** Returns a report's content as JSON, without its time. */
export const timelessJson = ({ observedAt: _, ...content }: Report) => JSON.stringify(content);

/** The last report of an assignment, delivered or not. */
export const lastReport = ({ reports, lastAcknowledged }: AssignmentRecord): Report | undefined =>
  reports.at(-1) ?? (lastAcknowledged ? JSON.parse(lastAcknowledged) : undefined);

/** The agent's own directory, closed to other users, for this process alone until `close`. A dry run only reads it. */
export async function openState(directory: string, { isReadOnly = false } = {}) {
  const assignments = join(directory, "assignments");
  refuseOthers(directory);
  const close = isReadOnly ? () => {} : await takeDirectory(directory, assignments);
  const own = { mode: PRIVATE, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const knownPath = join(directory, "desired-state.json");
  const policyPlace = join(directory, "policy-file");
  const readPolicyPlace = () => readFile(policyPlace, "utf8").catch(absent);
  const pathOf = (id: string) => join(assignments, `${id}.json`);
  const records = new Map<string, AssignmentRecord>();
  const names = (await readdir(assignments).catch(absent)) ?? [];
  for (const name of names) {
    const id = RECORD.exec(name)?.[1];
    if (isUuid(id)) records.set(id, await readRecord(id, pathOf(id), isReadOnly));
  }

  const saveJson = (path: string, value: object) => writeAtomically(path, JSON.stringify(value), own);

  /** Returns undefined also for a damaged file: the server is then asked without an ETag. */
  async function readKnown(): Promise<(Known & { size: number }) | undefined> {
    const text = (await readFile(knownPath, "utf8").catch(absent)) ?? "";
    const known = parse(text);
    const state = known && "state" in known ? readDesiredState(known.state) : undefined;
    return state && known && "etag" in known && typeof known.etag === "string" ? { etag: known.etag, state, size: text.length } : undefined;
  }

  async function save(record: AssignmentRecord) {
    records.set(record.assignmentId, record);
    await saveJson(pathOf(record.assignmentId), toDisk(record));
  }

  /** Keeps which file the agent runs with as its policy, so that `agent status` judges by the same. */
  async function savePolicyPlace(path: string) {
    if ((await readPolicyPlace()) !== path) await writeAtomically(policyPlace, path, own);
  }

  async function forget(id: string) {
    records.delete(id);
    await removeFile(pathOf(id));
  }

  const isOthers = (id: string, leaving?: Set<string>) => (name: string) =>
    [...records].some(([other, { ownership }]) => other !== id && !leaving?.has(other) && name in ownership);

  const keys = await openKeyRecords(directory, own);
  const challenges = await openChallengeRecords(directory, own);
  const saveKnown = (known: Known) => saveJson(knownPath, known);
  const isNew = names.length === 0;
  return { records, keys, challenges, isNew, save, forget, isOthers, readKnown, saveKnown, readPolicyPlace, savePolicyPlace, close };
}

/** Returns whether an agent holds the directory's lock, which it does as long as it runs. */
export function isInUse(directory: string) {
  if (!existsSync(join(directory, "lock"))) return false;
  try {
    lockDirectory(directory, "--state-dir")();
    return false;
  } catch {
    return true;
  }
}

/** Another user's agent has other places: root, too, would look into its own home instead of that user's. */
function refuseOthers(directory: string) {
  const uid = statSync(directory, { throwIfNoEntry: false })?.uid;
  if (uid !== undefined && uid !== process.getuid?.())
    throw new Error(
      `The state directory ${directory} belongs to another user. Run this as that user: sudo -u '#${uid}' …, or give it away: chown -R … ${directory}`,
    );
}

/** Locks the directory, and removes the temporary files of an agent that was killed. */
async function takeDirectory(directory: string, assignments: string) {
  await mkdir(assignments, { recursive: true, mode: 0o700 });
  if ((await stat(directory)).mode & 0o022) throw new Error(`Others may write the state directory ${directory}: chmod 700 ${directory}`);
  const close = lockDirectory(directory, "--state-dir");
  for (const each of [directory, assignments, keysIn(directory)])
    for (const name of (await readdir(each).catch(absent)) ?? []) if (isTemporary(name)) await rm(join(each, name));
  return close;
}

/** A damaged record is kept under another name, and a new one begins: it owns nothing, so that nothing is removed by guess. */
async function readRecord(id: string, path: string, isReadOnly: boolean): Promise<AssignmentRecord> {
  const record = fromDisk(parse(await readFile(path, "utf8")));
  if (isRecord(record, id)) return record;
  if (!isReadOnly) await rename(path, `${path}.damaged`);
  const damage = `The agent's record ${foreign(path)} was damaged and is kept as ${foreign(`${path}.damaged`)}. The agent leaves what it installed: remove it by hand, then the record.`;
  return { ...newRecord(id), damage };
}

/** The names that records have on disk since the first release: an older agent can read what a newer one wrote. */
const DISK_NAMES = {
  ownership: "claims",
  ownershipBefore: "claimsBefore",
  verifiedRevision: "proven",
  lastAcknowledged: "said",
  isRemoved: "isGone",
  revision: "proof",
  ignoredError: "moot",
};
const RECORD_NAMES = Object.fromEntries(Object.entries(DISK_NAMES).map(([name, onDisk]) => [onDisk, name]));

const toDisk = (record: AssignmentRecord) => renameKeys(record, DISK_NAMES);
const fromDisk = (record: object | undefined) => record && renameKeys(record, RECORD_NAMES);

/** Renames the keys of a record, of its retry and of its undo steps; what is deeper has names of its own. */
function renameKeys({ retry, undo, ...rest }: Partial<AssignmentRecord>, names: Record<string, string>): object {
  const rename = (each: object) => Object.fromEntries(Object.entries(each).map(([name, value]) => [names[name] ?? name, value]));
  return { ...rename(rest), ...(retry && { retry: rename(retry) }), ...(undo && { undo: Array.isArray(undo) ? undo.map(rename) : undo }) };
}

function isRecord(value: object | undefined, id: string): value is AssignmentRecord {
  if (!value || !("assignmentId" in value && "ownership" in value && "undo" in value && "reports" in value)) return false;
  return value.assignmentId === id && value.ownership instanceof Object && Array.isArray(value.undo) && Array.isArray(value.reports);
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value instanceof Object ? value : undefined;
  } catch {
    return undefined;
  }
}
