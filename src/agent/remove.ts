import { attemptOf, mustWait, reload, rollBackFailed, type Work } from "./attempt";
import { changeOf } from "./hooks/change";
import type { Host } from "./host/host";
import { fingerprintOf } from "./host/pem";
import { removeMisplaced } from "./misplaced";
import { expectReadable, expectRemovable, Refused } from "./policy/host-policy";
import { failed, kept, noteResult, type Result, refused, removed } from "./report";
import type { Desired } from "./server-client";
import { type AssignmentRecord, newRecord } from "./state";
import { type Material, remainsIn, type Target } from "./store";
import { storeOf } from "./stores/stores";
import { readTarget } from "./targets";
import { commit } from "./transaction/journal";
import { beginTransaction } from "./transaction/transaction";

const REMOVAL = "removal";

/**
 * Removes what the agent installed for an assignment that is no longer desired; what was there before the agent stays. Where the record was
 * lost, `item` says what to look for.
 */
export async function removeAssignment(record: AssignmentRecord, work: Work, item?: Desired): Promise<Result> {
  if (!work.ignoreBackoff && mustWait(record, REMOVAL, work.clock())) return undefined;
  const log = work.log.child({ assignment: record.assignmentId, store: record.target?.storeType });
  if (work.isDryRun) {
    log.info("would remove");
    return undefined;
  }
  if (record.damage && !hasInstalled(record) && item) return observeRemoved(item, work, record.damage);
  return removeInstalled(record, { ...work, log }).catch((error: Error) =>
    error instanceof Refused ? refused(error, log) : rollBackFailed(record, REMOVAL, error, { ...work, log }),
  );
}

async function removeInstalled(record: AssignmentRecord, work: Work): Promise<Result> {
  const { target, certificate, damage } = record;
  const isOwner = hasInstalled(record);
  if (damage && !isOwner && !target) throw new Error(damage);
  if (target && (isOwner || certificate)) await expectRemovable(target, work);
  if (target && isOwner) await takeAway(record, target, work);
  const remains = target && certificate ? await remainsIn(storeOf(target.storeType), target, soughtOf(certificate), work.host) : [];
  const why = isOwner ? OTHERS : (damage ?? BEFORE);
  const result = remains.length > 0 ? kept(`${why} ${remains.join("; ")}.`) : removed();
  await endRecord(record, result, work);
  work.log.info({ isOwner, remains }, result.state);
  return result;
}

async function takeAway(record: AssignmentRecord, target: Target, work: Work) {
  const { certificate } = record;
  const transaction = beginTransaction(attemptOf(record, work));
  const isForeignNow = await storeOf(target.storeType).remove(target, transaction, certificate);
  await removeMisplaced(record, target, transaction, work.log);
  await reload(target, transaction);
  if (certificate === undefined) return;
  if (isForeignNow !== true && (await isStillOurs(target, soughtOf(certificate), work.host))) throw new Error("It was removed, but the store still holds it.");
  record.change = changeOf("removed", target, certificate, record.undo);
}

const hasInstalled = ({ ownership }: AssignmentRecord) => Object.keys(ownership).length > 0;
const OTHERS = "Another owner, or another assignment, has put it there too, and that stays:";
const BEFORE = "It was there before this agent, or before its state directory was lost; the agent left it there:";

/** Ends a record, which is kept only to be reported. */
async function endRecord(record: AssignmentRecord, result: NonNullable<Result>, work: Work) {
  record.isRemoved = true;
  record.target = undefined;
  record.certificate = undefined;
  record.verifiedRevision = undefined;
  record.retry = undefined;
  noteResult(record, result, work);
  await commit(attemptOf(record, work));
}

/**
 * Looks for what is to be removed and is not the agent's, by its own record or for want of one. Removes nothing, for that would
 * be a guess.
 */
export async function observeRemoved(item: Desired, work: Work, why = UNKNOWN): Promise<Result> {
  const log = work.log.child({ assignment: item.id, store: item.trustStoreType });
  if (work.isDryRun) return undefined;
  try {
    const target = readTarget(item);
    await expectReadable(target, work);
    const remains = await remainsIn(storeOf(target.storeType), target, soughtOf(item.pem), work.host);
    const record = work.state.records.get(item.id) ?? newRecord(item.id);
    if (record.isRemoved && remains.length > 0) return undefined; // the words of the first report stand
    const result = remains.length > 0 ? kept(`${why} ${remains.join("; ")}.`) : removed();
    await endRecord(record, result, work);
    log.warn({ reason: why, remains }, result.state);
    return result;
  } catch (error) {
    return error instanceof Refused ? refused(error, log) : failed(error as Error, log);
  }
}

const UNKNOWN = "This agent has no record of it (its state directory was lost, or is another's), so it left it there:";

/** Returns whether the agent's own copy is still in the place after its removal. */
async function isStillOurs(target: Target, material: Material, host: Host) {
  const { certificates, isForeign } = await storeOf(target.storeType).observe(target, material, host);
  return !isForeign && certificates.some((each) => fingerprintOf(each) === material.fingerprint);
}

/** Returns the material that must not be found any more. */
const soughtOf = (certificate: string): Material => ({ certificate, fingerprint: fingerprintOf(certificate), chain: [], privateKey: null });
