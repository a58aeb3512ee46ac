import type { Logger } from "pino";
import type { Host } from "./host/host";
import { fingerprintOf } from "./host/pem";
import type { Desired, Report } from "./server-client";
import { type AssignmentRecord, newRecord, noteReport, type State } from "./state";
import type { Material, Target } from "./store";
import { storeOf } from "./stores/stores";
import { isSamePlace, readMaterial, readTarget } from "./targets";
import { commit, isUncommitted, rollBack } from "./transaction/journal";
import { beginTransaction, type Transaction } from "./transaction/transaction";
import { verifyEndpoint } from "./verify";

export type Work = {
  host: Host;
  memory: State;
  log: Logger;
  clock: () => Date;
  isDryRun: boolean;
  /** Whether to try at once what has failed before. */
  isUrgent: boolean;
};
/** What became of an assignment; undefined where nothing was tried. */
export type Result = Omit<Report, "assignmentId"> | undefined;
type Plan = {
  target: Target;
  material: Material;
  /** Names what is to be proven. */
  proof: string;
};

const MINUTE = 60_000;
const LONGEST_WAIT = 60 * MINUTE;

/** Makes one assignment true: observe, plan, apply, verify; what fails is taken back. */
export async function reconcile(item: Desired, work: Work): Promise<Result> {
  const proof = `${item.version} ${item.fingerprintSha256}`;
  if (!work.isUrgent && mustWait(work.memory.records.get(item.id), proof, work.clock())) return undefined;
  const log = work.log.child({ assignment: item.id, store: item.trustStoreType });
  try {
    return await reconcileOne({ target: readTarget(item), material: readMaterial(item), proof }, { ...work, log });
  } catch (error) {
    return failed(error as Error, log);
  }
}

function mustWait(record: AssignmentRecord | undefined, proof: string, now: Date) {
  if (record?.retry?.proof !== proof) return false;
  const wait = record.retry.at - now.getTime();
  return wait > 0 && wait <= LONGEST_WAIT; // longer only where the clock was put back
}

async function reconcileOne(plan: Plan, work: Work): Promise<Result> {
  const { target, material, proof } = plan;
  const record = work.memory.records.get(target.assignmentId) ?? newRecord(target.assignmentId);
  const { faults, certificates } = await storeOf(target.storeType).observe(target, material, work.host);
  const former = record.certificate !== undefined && record.target && !isSamePlace(record.target, target) ? record.target : undefined;
  const isProven = record.proven === proof && !former;
  if (faults.length === 0 && isProven) return installed(material);
  work.log.info({ faults, former, isProven }, work.isDryRun ? "would install or verify" : "installing or verifying");
  if (work.isDryRun) return undefined;
  try {
    const found = faults.length > 0 || former ? await apply(plan, record, former, work) : certificates;
    await verifyEndpoint(target, material, found, work.host);
  } catch (error) {
    return failInstallation(plan, record, error as Error, work);
  }
  const result = isProven ? healed(material, faults) : installed(material);
  Object.assign(record, { target, certificate: material.certificate, proven: proof, retry: undefined, isGone: false });
  noteReport(record, result); // saved at once with what it tells of
  await commit(attemptOf(record, work));
  work.log.info({ fingerprint: material.fingerprint }, isProven ? "healed" : "installed");
  return result;
}

const attemptOf = (record: AssignmentRecord, { host, log, memory }: Work) => ({
  host,
  log,
  ledger: record,
  save: () => memory.save(record),
  isOthers: memory.isOthers(record.assignmentId),
});

/** Takes back what an agent that was killed had begun. */
export async function recoverInterrupted(record: AssignmentRecord, work: Work) {
  if (!isUncommitted(record)) return;
  const failures = await rollBack(attemptOf(record, work));
  work.log.warn({ failures }, "an attempt was interrupted; it was taken back");
}

/** Answers the certificates as they are in the store afterwards. */
async function apply({ target, material }: Plan, record: AssignmentRecord, former: Target | undefined, work: Work) {
  const change = beginTransaction(attemptOf(record, work));
  const store = storeOf(target.storeType);
  if (former) await storeOf(former.storeType).remove(former, change, record.certificate);
  await store.install(target, material, change);
  const { faults, certificates } = await store.observe(target, material, work.host);
  if (faults.length > 0) throw new Error(`After the installation the store was not as desired: ${faults.join("; ")}.`);
  await reload(target, change);
  return certificates;
}

async function reload({ storeType, config: { reloadCommand, storePasswordRef: reference } }: Target, change: Transaction) {
  const variable = storeOf(storeType).passwordVariable;
  if (reloadCommand) await change.reload(reloadCommand, variable && reference ? { secret: { variable, reference } } : {});
}

async function failInstallation({ target, material, proof }: Plan, record: AssignmentRecord, error: Error, work: Work): Promise<Result> {
  record.target ??= target; // what is left of it must be found again
  record.isGone = false;
  const result = await rollBackFailed(record, proof, error, work);
  const seen = await storeOf(target.storeType)
    .observe(target, material, work.host)
    .catch(() => undefined); // why it failed says more than that it cannot be seen
  return { ...result, ...observed(seen?.certificates[0]) };
}

async function rollBackFailed(record: AssignmentRecord, proof: string, { message }: Error, work: Work) {
  const hasChanged = record.undo.length > 0;
  const left = (await rollBack(attemptOf(record, work))).filter((each) => each !== message); // a reload that fails once more says nothing new
  const consequence = left.length > 0 ? ` Rolling back failed too: ${left.join(" ")}` : hasChanged ? " Rolled back: the store is as it was." : "";
  const failures = (record.retry?.proof === proof ? record.retry.failures : 0) + 1;
  record.retry = { proof, failures, at: work.clock().getTime() + Math.min(MINUTE * 2 ** (failures - 1), LONGEST_WAIT) };
  return failed(new Error(message + consequence), work.log);
}

const REMOVAL = "removal";

/** Takes away what the agent installed for an assignment that is desired no more; what it found there stays. */
export async function removeAssignment(record: AssignmentRecord, work: Work): Promise<Result> {
  if (!work.isUrgent && mustWait(record, REMOVAL, work.clock())) return undefined;
  const log = work.log.child({ assignment: record.assignmentId, store: record.target?.storeType });
  if (work.isDryRun) {
    log.info("would remove");
    return undefined;
  }
  return removeInstalled(record, { ...work, log }).catch((error: Error) => rollBackFailed(record, REMOVAL, error, { ...work, log }));
}

async function removeInstalled(record: AssignmentRecord, work: Work): Promise<Result> {
  const { target, certificate, damage } = record;
  const hasInstalled = Object.keys(record.claims).length > 0;
  if (damage && !hasInstalled) throw new Error(damage);
  let message = certificate !== undefined && !hasInstalled ? "It was there before this agent, which left it there." : undefined;
  if (target && hasInstalled) {
    const change = beginTransaction(attemptOf(record, work));
    const isGivenBack = await storeOf(target.storeType).remove(target, change, certificate);
    await reload(target, change);
    const left = certificate && (await findLeft(target, certificate, work.host));
    if (left === "ours" && isGivenBack !== true) throw new Error("It was removed, but the store still holds it.");
    if (left) message = "Somebody else has put it there too, and that stays.";
  }
  const result = { state: "removed" as const, ...(message && { message }) };
  Object.assign(record, { isGone: true, target: undefined, certificate: undefined, proven: undefined, retry: undefined });
  noteReport(record, result);
  await commit(attemptOf(record, work));
  work.log.info({ hasInstalled }, "removed");
  return result;
}

/** Whose copy is in the store, if any is. */
async function findLeft(target: Target, certificate: string, host: Host) {
  const fingerprint = fingerprintOf(certificate);
  const { certificates, isForeign } = await storeOf(target.storeType).observe(target, { certificate, fingerprint, chain: [], privateKey: null }, host);
  if (certificates.some((each) => fingerprintOf(each) === fingerprint)) return isForeign ? "somebody else's" : "ours";
}

const installed = ({ fingerprint }: Material): NonNullable<Result> => ({ state: "installed", observedFingerprint: fingerprint });
const healed = (material: Material, faults: string[]): NonNullable<Result> => ({
  ...installed(material),
  state: "drifted",
  message: sentence("Found and healed: ", faults.join("; ")),
});
const observed = (pem: string | undefined) => (pem ? { observedFingerprint: fingerprintOf(pem) } : {});

function failed({ message }: Error, log: Logger): NonNullable<Result> {
  log.error({ reason: message }, "failed");
  return { state: "failed", message: sentence("", message) };
}

const MAX_MESSAGE = 1_000;

/** Words that the server takes: one line of plain text, at most 1,000 characters. */
function sentence(begin: string, words: string) {
  const line = (begin + words).replace(/[\p{Cc}\p{Cs}]+/gu, " ").trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 2).toWellFormed()} …` : line || "It failed without a word.";
}
