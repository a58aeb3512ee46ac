import { attemptOf, mustWait, noteFailure, reload, rollBackFailed, runReload, type Work } from "./attempt";
import { changeOf } from "./hooks/change";
import { foreign, unmarked } from "./host/foreign";
import { isKeyReadable, withOwnKey } from "./keys/waiting-keys";
import { findMisplaced, removeMisplaced } from "./misplaced";
import { formerTargetOf, readPermitted } from "./permitted";
import { endpointOf, isEndpointNamed } from "./policy/endpoints";
import { expectRemovable, Refused } from "./policy/host-policy";
import { failed, healed, installed, noteResult, observed, type Result, refused } from "./report";
import type { Desired } from "./server-client";
import { type AssignmentRecord, newRecord, revisionOf, type State } from "./state";
import type { Material, Target } from "./store";
import { storeOf } from "./stores/stores";
import { isSamePlace, readTarget } from "./targets";
import { commit } from "./transaction/journal";
import { beginTransaction } from "./transaction/transaction";
import { Unanswered, verifyEndpoint } from "./verify";

type Plan = {
  target: Target;
  material: Material;
  /** The version and fingerprint that are to be verified. */
  revision: string;
  /** True when the host's own key is not at hand: it can only lie inside the store already. */
  lacksKey: boolean;
};

/** Makes one assignment true: observe, plan, apply, verify; what fails is rolled back. */
export async function reconcileAssignment(item: Desired, work: Work): Promise<Result> {
  const revision = revisionOf(item);
  const log = work.log.child({ assignment: item.id, store: item.trustStoreType });
  try {
    const { target, sent, isOwnKey } = await readPermitted(item, work);
    if (!work.ignoreBackoff && mustWait(work.state.records.get(item.id), revision, work.clock())) return undefined;
    const material = isOwnKey ? await withOwnKey(sent, target, work.state.records.get(item.id)?.target, work) : sent;
    const lacksKey = isOwnKey && material.privateKey === null;
    if (lacksKey && (await isKeyReadable(target, work.host))) throw new Error(LOST_KEY);
    return await reconcileOne({ target, material, revision, lacksKey }, { ...work, log });
  } catch (error) {
    return error instanceof Refused ? refused(error, log) : failed(error as Error, log);
  }
}

const LOST_KEY = "The private key of this certificate was made on this host and is not there any more. Renew the certificate: that makes a new key.";

/** Returns whether an assignment is installed at another place than the desired one. */
export function isMoving(item: Desired, { records }: State) {
  const former = records.get(item.id)?.target;
  try {
    return former !== undefined && !isSamePlace(former, readTarget(item));
  } catch {
    return false; // reported where it is installed
  }
}

async function reconcileOne(plan: Plan, work: Work): Promise<Result> {
  const { target, material, revision } = plan;
  const record = work.state.records.get(target.assignmentId) ?? newRecord(target.assignmentId);
  const { differences, certificates } = await storeOf(target.storeType).observe(target, material, work.host);
  const former = formerTargetOf(record, target);
  if (former) await expectRemovable(former, work);
  const { names: misplaced } = await findMisplaced(record, target, work.host);
  const isElsewhere = former !== undefined || misplaced.length > 0;
  const isVerified = record.verifiedRevision === revision && !isElsewhere;
  if (differences.length === 0 && isVerified) return withDamage(record, installed(material));
  work.log.info({ differences, former, misplaced, isVerified }, work.isDryRun ? "would install or verify" : "installing or verifying");
  if (work.isDryRun) return undefined;
  try {
    const found = differences.length > 0 || isElsewhere ? await apply(plan, record, former, work) : certificates;
    const fault = await verify(plan, found, isVerified, work);
    if (fault instanceof Unanswered) differences.push(`put back, but not verified: ${fault.message}`);
    else if (fault) return keepHealed(plan, record, fault, work);
  } catch (error) {
    return failInstallation(plan, record, error as Error, work);
  }
  return concludeInstallation(plan, record, { differences, isVerified }, work);
}

type Outcome = { differences: string[]; isVerified: boolean };

async function concludeInstallation({ target, material, revision }: Plan, record: AssignmentRecord, { differences, isVerified }: Outcome, work: Work) {
  const result = isVerified ? healed(material, differences) : withDamage(record, installed(material));
  record.target = target;
  record.certificate = material.certificate;
  record.verifiedRevision = revision;
  record.retry = undefined;
  record.isRemoved = false;
  noteResult(record, result, work); // saved together with what it reports
  await commit(attemptOf(record, work));
  work.log.info({ fingerprint: material.fingerprint }, isVerified ? "healed" : "installed");
  return result;
}

/**
 * Verifies the store's content, and returns the endpoint's fault where content that was verified before does not verify again.
 * That stays: the content it replaced never was verified.
 */
async function verify({ target, material }: Plan, found: string[], isHealing: boolean, { host, policy }: Work) {
  const askAgain = storeOf(target.storeType).dropsReloads ? () => runReload(target, host) : undefined;
  return verifyEndpoint(target, material, found, host, askAgain).catch((error: Error) => {
    const fault = isEndpointNamed(target, policy) ? error : veil(error, target);
    if (!isHealing) throw fault;
    return fault;
  });
}

/** An endpoint that no policy names may be any service of this host: the server learns that it was not verified, and never why. */
function veil(error: Error, { config: { verifyEndpoint: uri = "" } }: Target) {
  const endpoint = endpointOf(uri);
  const Kind = error instanceof Unanswered ? Unanswered : Error;
  return new Kind(
    `${endpoint} was not verified (ENDPOINT_NOT_VERIFIED): ${foreign(unmarked(error.message))} Reports say why where the policy of this host names it: --endpoint ${endpoint}`,
  );
}

/** Keeps what was put back, and reports that the endpoint does not agree; the next pass asks it again. */
async function keepHealed({ target, revision }: Plan, record: AssignmentRecord, fault: Error, work: Work) {
  record.target = target;
  record.verifiedRevision = undefined;
  const consequence = " What was verified before was put back.";
  noteFailure(record, revision, fault.message + consequence, work.clock());
  const result = failed(fault, work.log, consequence);
  noteResult(record, result, work);
  await commit(attemptOf(record, work));
  return result;
}

/** Installs at the target, after removing from the `former` one. Returns the certificates that are in the store afterwards. */
async function apply({ target, material, revision, lacksKey }: Plan, record: AssignmentRecord, former: Target | undefined, work: Work) {
  if (lacksKey) throw new Error(LOST_KEY);
  const transaction = beginTransaction(attemptOf(record, work));
  const store = storeOf(target.storeType);
  if (former) await storeOf(former.storeType).remove(former, transaction, record.certificate);
  await store.install(target, material, transaction);
  await removeMisplaced(record, target, transaction, work.log);
  const { differences, certificates } = await store.observe(target, material, work.host);
  if (differences.length > 0) throw new Error(`After the installation the store was not as desired: ${differences.join("; ")}.`);
  await reload(target, transaction);
  record.change = changeOf(record.verifiedRevision === revision ? "healed" : "installed", target, material.certificate, record.undo);
  return certificates;
}

/** A record that was lost is reported as long as the new one stands, a hook that failed until the next change. */
function withDamage({ damage, hookFault }: AssignmentRecord, result: NonNullable<Result>) {
  const message = damage ?? hookFault;
  return { ...result, ...(message && { message }) };
}

async function failInstallation({ target, material, revision }: Plan, record: AssignmentRecord, error: Error, work: Work): Promise<Result> {
  record.target ??= target; // what is left of it must be found again
  record.change = undefined;
  record.isRemoved = false;
  const result = await rollBackFailed(record, revision, error, work);
  const seen = await storeOf(target.storeType)
    .observe(target, material, work.host)
    .catch(() => undefined); // the reason of the failure matters more than that the store cannot be read
  return { ...result, ...observed(seen?.certificates[0]) };
}
