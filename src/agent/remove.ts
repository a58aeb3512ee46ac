import { attemptOf, mustWait, reload, rollBackFailed, type Work } from "./attempt";
import type { Host } from "./host/host";
import { fingerprintOf } from "./host/pem";
import type { Result } from "./report";
import { type AssignmentRecord, noteReport } from "./state";
import type { Target } from "./store";
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
  let message = certificate !== undefined && !hasInstalled ? "It was there before this agent, which left it there." : undefined;
  if (target && hasInstalled) {
    const transaction = beginTransaction(attemptOf(record, work));
    const isForeignNow = await storeOf(target.storeType).remove(target, transaction, certificate);
    await reload(target, transaction);
    const left = certificate && (await findLeft(target, certificate, work.host));
    if (left === "ours" && isForeignNow !== true) throw new Error("It was removed, but the store still holds it.");
    if (left) message = "Another owner has put it there too, and that stays.";
  }
  const result = { state: "removed" as const, ...(message && { message }) };
  record.isRemoved = true;
  record.target = undefined;
  record.certificate = undefined;
  record.verifiedRevision = undefined;
  record.retry = undefined;
  noteReport(record, result);
  await commit(attemptOf(record, work));
  work.log.info({ hasInstalled }, "removed");
  return result;
}

/** Returns whether a copy of the certificate is still in the store: the agent's own, or one of another owner. */
async function findLeft(target: Target, certificate: string, host: Host): Promise<"ours" | "foreign" | undefined> {
  const fingerprint = fingerprintOf(certificate);
  const { certificates, isForeign } = await storeOf(target.storeType).observe(target, { certificate, fingerprint, chain: [], privateKey: null }, host);
  if (certificates.some((each) => fingerprintOf(each) === fingerprint)) return isForeign ? "foreign" : "ours";
}
