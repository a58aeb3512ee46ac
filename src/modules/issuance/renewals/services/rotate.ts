import type { Deps } from "#deps";
import { retireCertificate } from "#modules/certificates/certificates/queries/certificates";
import { startRotation, type Unsuited } from "#modules/fleet/rotations/queries";
import type { Scope } from "#modules/people/audit/queries";
import { claimIssued, type Issued, saveRotated, saveUnrotated, saveWaiting } from "../queries/rotate";
import { reviewAgainAt } from "../rules/backoff";
import { holdSecondsOf } from "../rules/plan";

/** Below what can be done within the time of a claim. */
const AT_ONCE = 20;
const TRIED_AGAIN_MS = 3_600_000;

const UNSUITED: Record<Unsuited, string> = {
  "not active": "it is expired, revoked or retired already",
  "no authority": "the certificate is a trust anchor or intermediate somewhere, and its successor is no authority",
  "no key": "an assignment includes the private key, and that of the successor is not stored here",
  itself: "the issuer issued the same certificate again",
  circle: "the certificate is itself a successor of it",
};

/**
 * Has successors that were issued come to the hosts of their certificates, all at once; each certificate is retired once every host has its
 * successor.
 */
export async function startRotations(deps: Deps, signal: AbortSignal) {
  const failures: unknown[] = [];
  for (let count = AT_ONCE; count === AT_ONCE && !signal.aborted; ) {
    const issued = await claimIssued(deps.sql, AT_ONCE, deps.clock());
    count = issued.length;
    for (const each of issued) await follow(deps, each).catch((error) => void failures.push(error));
  }
  if (failures.length > 0)
    throw new AggregateError(failures, `${failures.length} renewed certificates could not be brought to their hosts; the next try is in two minutes`);
}

const scopeOf = ({ organizationId }: Issued): Scope => ({ organizationId, actor: { type: "server" }, requestId: null });
const holdOf = ({ notBefore, notAfter }: Issued) => holdSecondsOf({ notBefore: new Date(notBefore), notAfter: new Date(notAfter) });

async function follow(deps: Deps, issued: Issued) {
  if (issued.isRotated) return saveRotated(deps.sql, issued);
  await (issued.isLeft ? rotate(deps, issued) : retire(deps, issued));
}

/** A host that made the key has the successor since it was issued: retires the certificate once that was seen there for a while. */
async function retire({ sql, stamps, clock }: Deps, issued: Issued) {
  const { isActive, isObserved, issuedAt, certificateId: id } = issued;
  const now = clock();
  const retireAt = issued.retireAt === null ? new Date(now.getTime() + holdOf(issued) * 1_000) : new Date(issued.retireAt);
  if (!isActive) return saveRotated(sql, issued);
  if (!isObserved) return saveWaiting(sql, issued, null, reviewAgainAt(new Date(issuedAt), now));
  if (retireAt > now) return saveWaiting(sql, issued, retireAt, retireAt);
  await retireCertificate(sql, stamps, scopeOf(issued), { id, versions: undefined }, now);
  await saveRotated(sql, issued);
}

async function rotate({ sql, stamps, clock }: Deps, issued: Issued) {
  const { certificateId, successorId } = issued;
  const holdSeconds = holdOf(issued);
  const scope = scopeOf(issued);
  const given = {
    certificateId,
    successorId,
    rings: [{ selector: null, share: 1, path: undefined }],
    retire: { share: 1, holdSeconds },
    haltShare: null,
    successShare: 1,
    mayBeRevoked: true,
  };
  const started = await startRotation(sql, stamps, scope, given, clock());
  // In the way is a rotation of the same moment, or who retired the certificate: nothing is left to do.
  if (typeof started !== "string" || started === "conflict") return saveRotated(sql, issued);
  if (started === "no certificate") throw new Error(`certificate ${successorId} is not stored`);
  const failure = `The certificate was issued, but cannot follow on the hosts: ${UNSUITED[started]}.`;
  return saveUnrotated(sql, issued, failure, new Date(clock().getTime() + TRIED_AGAIN_MS));
}
