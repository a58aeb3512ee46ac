import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import type { Resource, Target } from "#db/outcome";
import { matchesVersion } from "#db/versions";
import { lockIssuer, wakeIssuer } from "#modules/issuance/issuers/queries/due";
import { addSteps } from "#modules/issuance/issuing/queries";
import { judgeVoice } from "#modules/issuance/issuing/rules/four-eyes";
import { recordEnds } from "#modules/notifications/events/queries/record";
import { findUserBehind } from "#modules/people/api-tokens/queries";
import { audit, type Scope, userOf } from "#modules/people/audit/queries";
import { isRequestProven, type RequestProof, requestProofJson, stampRequest, UNPROVEN_REQUEST } from "./asked-keys";
import { begin, requestJson } from "./requests";
import { findTerms } from "./terms";

type LockedRequest = {
  issuer: Awaited<ReturnType<typeof lockIssuer>>;
  profile: string | null;
  version: number;
  approval: string;
  isOpen: boolean;
  authorId: string | null;
  proof: RequestProof;
};

/** Finds a request, with the user behind its author, and locks its issuer and then itself. */
async function lockRequest(tx: Sql, organizationId: string, id: string): Promise<LockedRequest | undefined> {
  const [found] = await tx<{ issuerId: string }[]>`
    select issuer_id as "issuerId" from certificate_requests where organization_id = ${organizationId} and id = ${id}`;
  if (!found) return;
  const issuer = await lockIssuer(tx, organizationId, found.issuerId);
  const [row] = await tx<Omit<LockedRequest, "issuer">[]>`
    select profile, version, approval, ended_at is null as "isOpen", ${findUserBehind(tx, tx`r.organization_id`, tx`r.created_by`)} as "authorId", ${requestProofJson(tx)} as proof
    from certificate_requests r where organization_id = ${organizationId} and id = ${id} for update`;
  return row && { ...row, issuer };
}

type Rejection = "not found" | "stale" | { inTheWay: string } | { forbidden: string };

/** Ends an open request. What its proofs have left behind is taken away by the job, after the server that is at work on it, if one is. */
export const cancelRequest = (pool: Pool, scope: Scope, { id, versions }: Target): Promise<Resource | Rejection> =>
  pool.begin(async (tx) => {
    const locked = await lockRequest(tx, scope.organizationId, id);
    if (!locked) return "not found";
    if (!matchesVersion(versions, locked.version)) return "stale";
    if (!locked.isOpen) return { inTheWay: "The certificate request has ended already." };
    return end(tx, scope, id, { action: "cancelled", reason: "It was cancelled.", isRefusal: false });
  });

type Ending = { action: "cancelled" | "refused"; reason: string; isRefusal: boolean };

async function end(tx: Sql, scope: Scope, id: string, { action, reason, isRefusal }: Ending): Promise<Resource> {
  const [row] = await tx<Resource[]>`
    with ended as (
      update certificate_requests set status = 'cancelled', reason = ${reason}, ended_at = now(), version = version + 1, updated_at = now(),
        sealed_private_key = null, due_at = case when claimed_until > now() then claimed_until when progress is not null then now() end
        ${isRefusal ? tx`, approval = 'refused', approved_by = ${JSON.stringify(scope.actor)}::text::jsonb` : tx``}
      where organization_id = ${scope.organizationId} and id = ${id} returning *),
    stepped as (${addSteps(tx, tx`select organization_id, id, status, reason from ended`)}),
    woken as (${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from ended`)}),
    audited as (${audit(tx, scope, `certificate-request.${action}`, tx`select id, jsonb_build_object('reason', reason) from ended`)}),
    decided as (${recordEnds(tx, "certificate_request_awaits_approval", tx`select organization_id, id from ended`)})
    select ${requestJson(tx)}::text as json, version from ended`;
  if (!row) throw new Error(`certificate request ${id} vanished while it was locked`);
  return row;
}

/** Decides on a request that waits for another admin. A refused one has ended. */
export const decideRequest = (
  pool: Pool,
  stamps: Stamps,
  scope: Scope,
  { id, versions }: Target,
  decision: { isApproved: boolean; reason: string },
): Promise<Resource | Rejection> =>
  pool.begin(async (tx) => {
    const locked = await lockRequest(tx, scope.organizationId, id);
    if (!locked) return "not found";
    const voice = judgeVoice(locked.authorId, scope.actor, "certificate request");
    if (typeof voice === "object") return voice;
    if (!locked.isOpen || locked.approval !== "awaited") return { inTheWay: "The certificate request waits for no approval." };
    if (!matchesVersion(versions, locked.version)) return "stale";
    if (!decision.isApproved) return end(tx, scope, id, { action: "refused", reason: decision.reason, isRefusal: true });
    if (!isRequestProven(stamps, locked.proof)) return { inTheWay: UNPROVEN_REQUEST };
    return voice === "vouch" ? vouch(tx, scope, id) : approve(tx, stamps, scope, id, locked);
  });

const VOUCHED = "One admin approved it. No user is known to have ordered it, so it waits for the approval of another admin.";

/** Notes the first user who approves what no user is known to have ordered: from now on that user counts as its author. */
async function vouch(tx: Sql, scope: Scope, id: string): Promise<Resource> {
  const [row] = await tx<Resource[]>`
    with vouched as (
      update certificate_requests set created_by = created_by || jsonb_build_object('userId', ${userOf(scope)}::text), reason = ${VOUCHED}, version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${id} returning *),
    stepped as (${addSteps(tx, tx`select organization_id, id, status, reason from vouched`)}),
    audited as (${audit(tx, scope, "certificate-request.vouched", tx`select id, '{}'::jsonb from vouched`)})
    select ${requestJson(tx)}::text as json, version from vouched`;
  if (!row) throw new Error(`certificate request ${id} vanished while it was locked`);
  return row;
}

/** Approves a request as its issuer is now. */
async function approve(tx: Sql, stamps: Stamps, scope: Scope, id: string, { issuer, profile }: LockedRequest): Promise<Resource> {
  if (!issuer) throw new Error(`the issuer of the open certificate request ${id} is gone`); // none is deleted while a request is open
  const terms = await findTerms(tx, { organizationId: scope.organizationId, ...issuer }, profile);
  const isIt = tx`organization_id = ${scope.organizationId} and id = ${id}`;
  await tx`
    with approved as (
      update certificate_requests set approval = 'given', approved_by = ${JSON.stringify({ ...scope.actor, terms })}::text::jsonb, version = version + 1, updated_at = now()
      where ${isIt} returning organization_id, id),
    decided as (${recordEnds(tx, "certificate_request_awaits_approval", tx`select organization_id, id from approved`)})
    ${audit(tx, scope, "certificate-request.approved", tx`select id, '{}'::jsonb from approved`)}`;
  await stampRequest(tx, stamps, scope.organizationId, id);
  return begin(tx, isIt, "It was approved.");
}
