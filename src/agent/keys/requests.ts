import type { KeyRequest } from "#modules/issuance/requests/schema/host-keys";
import { algorithmOf, type Signer } from "#x509/signing-request";
import { retryAt, type Work } from "../attempt";
import { isWithinBackoff } from "../backoff";
import { writeAtomically } from "../host/files";
import { makeCsr, makePrivateKey, signerOf } from "../host/private-key";
import { expectPermitted, Refused } from "../policy/host-policy";
import { failed, refused, reportable } from "../report";
import type { DesiredState, ServerClient } from "../server-client";
import type { Target } from "../store";
import { storeOf } from "../stores/stores";
import { readKeyRequest } from "../targets";
import { Unreachable } from "../transport";
import type { KeyRecord } from "./key-records";
import { forgetUnasked, readKeyFile, waitingPlaceOf } from "./waiting-keys";

type Answering = Work & { client: Pick<ServerClient, "sendCsr" | "reportKeyFault"> };
type Answered = { failed: number; unreachable?: Unreachable };

/**
 * Makes a key for each certificate to be issued for this host, sends a signing request, and removes other keys. Returns the
 * number of failures, and why the server was not reached.
 */
export async function answerKeyRequests(desired: Pick<DesiredState, "keys" | "items" | "keep">, work: Answering): Promise<Answered> {
  const { keys: requests } = desired;
  if (!requests) return { failed: 0 }; // a server of the release before
  let failures = 0;
  try {
    for (const request of requests) if (!(await answer(request, work))) failures++;
    if (!work.isDryRun) await forgetUnasked(desired, work);
    return { failed: failures };
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    work.log.warn({ reason: error.message }, "the signing requests are kept until the server can be reached");
    return { failed: failures, unreachable: error };
  }
}

/** Returns whether nothing is wrong with the request. Throws Unreachable. */
async function answer(request: KeyRequest, work: Answering) {
  const { requestId, assignment, hasCsr } = request;
  const log = work.log.child({ request: requestId, assignment: assignment.id, store: assignment.trustStoreType });
  const record: KeyRecord = { requestId, assignmentId: assignment.id, ...work.state.keys.records.get(requestId) };
  try {
    const target = readKeyRequest(request);
    const { keyInside } = storeOf(target.storeType);
    await expectPermitted(target, keyInside === undefined, undefined, work);
    if (!work.ignoreBackoff && record.retry && isWithinBackoff(record.retry.at - work.clock().getTime())) return true;
    if (work.isDryRun) {
      if (!hasCsr) log.info("would make a private key and have its certificate issued");
      return true;
    }
    const signer = keyInside ? await keyInside(target, work.host) : await keyOf(request, target, record, { ...work, log });
    if (!hasCsr) await send(request, signer, { ...work, log });
    if (record.told !== undefined || record.retry) await work.state.keys.save({ ...record, told: undefined, retry: undefined });
    return true;
  } catch (error) {
    if (error instanceof Unreachable) throw error;
    await reportFailure(error as Error, request, record, { ...work, log });
    return false;
  }
}

/** The request's key: the one that was made for it before, also by an agent that was killed; else a new one. */
async function keyOf({ requestId, algorithm, hasCsr }: KeyRequest, target: Target, record: KeyRecord, work: Answering): Promise<Signer> {
  const place = await waitingPlaceOf(requestId, target, work);
  for (const path of new Set([record.path ?? place.path, place.path])) {
    const found = await readSigner(path);
    if (!found || algorithmOf(found.publicKey) !== algorithm) continue;
    if (record.path !== path) await work.state.keys.save(Object.assign(record, { path }));
    return found;
  }
  if (hasCsr) throw new Error("The private key that was made for this request is not on this host any more. Cancel the request, and ask for another.");
  await work.state.keys.save(Object.assign(record, { path: place.path }));
  const key = await makePrivateKey(algorithm);
  await writeAtomically(place.path, key, place.attributes);
  work.log.info({ path: place.path, algorithm }, "made a private key");
  return signerOf(key);
}

async function readSigner(path: string) {
  const key = await readKeyFile(path);
  try {
    return key === undefined ? undefined : signerOf(key);
  } catch {
    return undefined; // a file that holds no key is written again
  }
}

async function send({ requestId, algorithm, commonName, names }: KeyRequest, signer: Signer, { client, log }: Answering) {
  const own = algorithmOf(signer.publicKey);
  if (own !== algorithm) throw new Error(`The key that lies there is ${own}, and the certificate is to be for ${algorithm}.`);
  const refusal = await client.sendCsr(requestId, await makeCsr({ commonName, names }, signer));
  if (refusal !== undefined) throw new Error(refusal);
  log.info("sent the signing request");
}

/** Reports to the server, once, why there is no key; a failure is tried again later, a refusal as soon as the policy is another. */
async function reportFailure(error: Error, request: KeyRequest, record: KeyRecord, work: Answering) {
  const { client, log, clock, isDryRun } = work;
  const { keys, records } = work.state;
  const isRefused = error instanceof Refused;
  const { message: reason = "" } = isRefused ? refused(error, log) : failed(error, log);
  const message = reportable(reason, [request], work);
  if (isDryRun) return;
  const failures = (record.retry?.failures ?? 0) + 1;
  const retry = isRefused ? undefined : { failures, at: retryAt(failures, records.get(record.assignmentId), clock()) };
  await keys.save({ ...record, retry });
  if (record.told === message) return;
  await client.reportKeyFault(record.requestId, { state: isRefused ? "refused" : "failed", message });
  await keys.save({ ...record, retry, told: message });
}
