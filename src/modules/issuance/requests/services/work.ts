import type { Deps } from "#deps";
import { findStored, type StoredIssuer } from "#modules/issuance/issuers/queries/issuers";
import { openIssuer } from "#modules/issuance/issuers/services/secrets";
import type { Driver, OpenIssuer, Step } from "#modules/issuance/issuing/rules/driver";
import { driverOf } from "#modules/issuance/issuing/services/drivers";
import type { Take } from "#modules/platform/jobs/rules";
import { isRequestProven, requestFacts, UNPROVEN_REQUEST } from "../queries/asked-keys";
import { type Claim, claimRequests, extendClaim } from "../queries/claims";
import { releaseClaim, saveCleaned, saveKey, saveTransition } from "../queries/save";
import { endApproval, findTerms } from "../queries/terms";
import { isGivenUp, nextOf, waitAfter } from "../rules/next";
import { storeIssued } from "./issue";
import { requestOf } from "./keys";

const STEP_MS = 45_000;
/** How often a server says that it is still at work on a request: a third of the time for which it has it. */
const EXTEND_MS = 5_000;

type Claimed = { claim: Claim; stored: Promise<StoredIssuer | undefined> | undefined };
type Work = { claim: Claim; issuer: OpenIssuer; driver: Driver };

/**
 * Returns what takes the next steps of requests that are due, at the authorities of organizations or at other issuers. Each step is kept
 * before the next one; those of a killed server are taken over.
 */
export const issuing =
  (deps: Deps, { isOwn }: { isOwn: boolean }): Take =>
  async (room, stopping) => {
    const claims = await claimRequests(deps.sql, room, { isOwn });
    const [first] = claims ?? [];
    const stored = first && findStored(deps.sql, first.organizationId, first.issuerId); // all are of one
    return claims?.map((claim) => ({
      organizationId: claim.organizationId,
      targetId: claim.issuerId,
      run: () => serve(deps, { claim, stored }, stopping).catch((err) => reportUnserved(deps, claim, err)),
    }));
  };

const reportUnserved = ({ log }: Deps, { organizationId, id }: Claim, err: unknown) =>
  log.warn({ err, organizationId, requestId: id }, "a certificate request could not be served; the next try is in 15 s");

/** Opens the issuer of a request, and finds what has it issue; or why that cannot be. */
function openIssuing(deps: Deps, stored: StoredIssuer | undefined): Omit<Work, "claim"> | { fault: string } {
  const driver = stored && driverOf(deps, stored.kind);
  if (!driver) return { fault: `This server has no certificates issued by the kind ${stored?.kind}.` };
  const issuer = openIssuer(deps, stored);
  return "fault" in issuer ? issuer : { issuer, driver };
}

/** Takes the steps of a request that are due one after the other, until the server stops. */
async function serve(deps: Deps, { claim, stored }: Claimed, stopping: AbortSignal): Promise<void> {
  const opened = openIssuing(deps, await stored);
  if ("fault" in opened) return claim.hasEnded ? saveCleaned(deps.sql, claim) : refuse(deps, claim, opened.fault);
  const { issuer, driver } = opened;
  if (claim.hasEnded) return clean(deps, { claim, issuer, driver });
  if (!isRequestProven(deps.stamps, claim.proof)) return refuse(deps, claim, UNPROVEN_REQUEST);
  const approvedTerms = approvedTermsOf(claim);
  if (approvedTerms !== null && approvedTerms !== (await findTerms(deps.sql, issuer, claim.profile))) return endApproval(deps.sql, deps.stamps, claim);
  for (let next: Claim | undefined = claim; next; ) {
    next = next.csr ? await takeStep(deps, { claim: next, issuer, driver }, next.csr, stopping) : await prepare(deps, next, stopping);
    if (next && stopping.aborted) return releaseClaim(deps.sql, next);
  }
}

/** Keeps a request for this server until the work on it is done. */
async function hold<Result>({ sql, log }: Deps, claim: Claim, work: Promise<Result>): Promise<Result> {
  let extended = Promise.resolve();
  const extend = () =>
    extendClaim(sql, claim).catch((err) => log.warn({ err, requestId: claim.id }, "it could not be said that a certificate request is still worked on"));
  const timer = setInterval(() => {
    extended = extended.then(extend);
  }, EXTEND_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    await extended; // what follows goes by the time that it has kept
  }
}

/** Fails a request that is not even begun, for the log too: what was changed in the database is an operator's affair. */
function refuse(deps: Deps, claim: Claim, fault: string) {
  const { organizationId, id: requestId, issuerId } = claim;
  deps.log.error({ organizationId, requestId, issuerId }, `a certificate request is not served. ${fault}`);
  return fail(deps, claim, fault);
}

async function fail({ sql }: Deps, claim: Claim, reason: string) {
  await saveTransition(sql, claim, { status: "failed", reason, waitMs: 0, isFailure: true });
}

/** Makes the key of a request, where the server is to have it. It may wait for a lane as long as a step may take. */
async function prepare(deps: Deps, claim: Claim, stopping: AbortSignal): Promise<Claim | undefined> {
  const signal = AbortSignal.any([AbortSignal.timeout(STEP_MS), stopping]);
  const made = hold(deps, claim, deps.keyMaker.make(claim.organizationId, claim.keyAlgorithm, { signal, isPatient: true }));
  const privateKey = await made.catch((error) => {
    if (!stopping.aborted) throw error;
  });
  if (!privateKey) return releaseClaim(deps.sql, claim);
  const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  const key = await requestOf(deps.config.keyring, claim.names, pem, claim);
  const stamp = deps.stamps.of(requestFacts({ ...claim.proof.facts, csr: key.csr.toString("hex") }));
  return (await saveKey(deps.sql, claim, { ...key, stamp })) ? { ...claim, ...key } : undefined;
}

/** The issuer's terms when the request was approved; null where no approval names them. */
const approvedTermsOf = ({ proof }: Claim) => (typeof proof.facts.approvedTerms === "string" ? proof.facts.approvedTerms : null);

const issuingOf = (claim: Claim, csr: Uint8Array) => {
  const { organizationId, id, issuerId, names, profile, replacedPem, hostProof, progress } = claim;
  return {
    organizationId,
    requestId: id,
    issuerId,
    names,
    profile,
    csr,
    replaces: replacedPem,
    hostProof,
    approvedTerms: approvedTermsOf(claim),
    progress: progress ?? undefined,
  };
};

/** Takes one step and keeps what it came to. Returns the request as it is then, where the next step is due at once. */
async function takeStep(deps: Deps, { claim, issuer, driver }: Work, csr: Uint8Array, stopping: AbortSignal): Promise<Claim | undefined> {
  const signal = AbortSignal.any([AbortSignal.timeout(STEP_MS), stopping]);
  const taken = ask(deps, claim, () => driver.take(issuer, issuingOf(claim, csr), signal));
  const step = await hold(deps, claim, taken);
  if (stopping.aborted && step.to === "retry") return releaseClaim(deps.sql, claim); // the fault may be the stop alone
  if (step.to === "issued") {
    const fault = await storeIssued(deps, { ...claim, csr }, step);
    if (fault !== undefined) await fail(deps, claim, `What the issuer answered was not taken. ${fault}`);
    return;
  }
  const transition = nextOf(claim, step, deps.clock(), Math.random());
  const until = await saveTransition(deps.sql, claim, transition);
  if (until === undefined || transition.status === "failed") return;
  return { ...claim, until, status: transition.status, progress: transition.progress ?? claim.progress, attempts: 0, failingSince: null, issuerFailures: 0 };
}

/** Faults that a driver throws may pass. */
async function ask({ clock, log }: Deps, { organizationId, id }: Claim, take: () => Promise<Step>): Promise<Step> {
  try {
    return await take();
  } catch (err) {
    log.warn({ err, organizationId, requestId: id }, "a step of a certificate request failed; it is tried again");
    return { to: "retry", at: clock(), reason: "The step failed; the server's log says why. It is tried again." };
  }
}

/** Takes away what the proofs of a request that has ended left behind, and tries that for three days. */
async function clean(deps: Deps, { claim, issuer, driver }: Work) {
  const { sql, clock, log } = deps;
  try {
    if (claim.progress !== null && claim.csr) await hold(deps, claim, driver.end(issuer, issuingOf(claim, claim.csr), AbortSignal.timeout(STEP_MS)));
    await saveCleaned(sql, claim);
  } catch (err) {
    const { organizationId, id, attempts, failingSince } = claim;
    const isLast = isGivenUp(failingSince, clock());
    log.warn({ err, organizationId, requestId: id }, `what a certificate request left behind could not be taken away${isLast ? "" : "; it is tried again"}`);
    await saveCleaned(sql, claim, isLast ? undefined : waitAfter(attempts + 1, 0, Math.random()));
  }
}
