import { attemptOf, mustWait, reload, rollBackFailed, type Work } from "./attempt";
import type { Host } from "./host/host";
import { fingerprintOf } from "./host/pem";
import { kept, type Result, removed } from "./report";
import { type AssignmentRecord, noteReport } from "./state";
import { type Material, remainsIn, type Target } from "./store";
import { storeOf } from "./stores/stores";
import { commit } from "./transaction/journal";
import { beginTransaction } from "./transaction/transaction";

const REMOVAL = "removal";

/** Removes what the agent installed for an assignment that is no longer desired; what was there before the agent stays. */
export async function removeAssignment(record: AssignmentRecord, work: Work): Promise<Result> {
  if (!work.ignoreBackoff && mustWait(record, REMOVAL, work.clock())) return undefined;
  const log = work.log.child({ assignment: record.assignmentId, store: record.target?.storeType });
  if (work.isDryRun) {
    log.info("would remove");
    return undefined;
  }
  return removeInstalled(record, { ...work, log }).catch((error: Error) => rollBackFailed(record, REMOVAL, error, { ...work, log }));
}

async function removeInstalled(record: AssignmentRecord, work: Work): Promise<Result> {
  const { target, certificate, damage } = record;
  const hasInstalled = Object.keys(record.ownership).length > 0;
  if (damage && !hasInstalled) throw new Error(damage);
  if (target && hasInstalled) {
    const transaction = beginTransaction(attemptOf(record, work));
    const isForeignNow = await storeOf(target.storeType).remove(target, transaction, certificate);
    await reload(target, transaction);
    if (certificate && isForeignNow !== true && (await isStillOurs(target, soughtOf(certificate), work.host)))
      throw new Error("It was removed, but the store still holds it.");
  }
  const remains = target && certificate ? await remainsIn(storeOf(target.storeType), target, soughtOf(certificate), work.host) : [];
  const why = hasInstalled
    ? "Another owner, or another assignment, has put it there too, and that stays"
    : "It was there before this agent, which left it there";
  const result = remains.length > 0 ? kept(`${why}: ${remains.join("; ")}.`) : removed();
  record.isRemoved = true;
  record.target = undefined;
  record.certificate = undefined;
  record.verifiedRevision = undefined;
  record.retry = undefined;
  noteReport(record, result);
  await commit(attemptOf(record, work));
  work.log.info({ hasInstalled, remains }, result.state);
  return result;
}

/** Whether the agent's own copy is in the place still, though it was removed. */
async function isStillOurs(target: Target, material: Material, host: Host) {
  const { certificates, isForeign } = await storeOf(target.storeType).observe(target, material, host);
  return !isForeign && certificates.some((each) => fingerprintOf(each) === material.fingerprint);
}

/** What is to be found no more. */
const soughtOf = (certificate: string): Material => ({ certificate, fingerprint: fingerprintOf(certificate), chain: [], privateKey: null });
