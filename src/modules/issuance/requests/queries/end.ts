import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import type { Resource, Target } from "#db/outcome";
import { matchesVersion } from "#db/versions";
import { HELD_REQUEST, isRequestProven, type RequestProof, requestProofJson, stampRequest } from "#modules/issuance/hosts/queries/asked-keys";
import { notifyEnd } from "#modules/notifications/events/queries/notify";
import { type Actor, audit, type Scope } from "#modules/people/audit/queries";
import { addSteps, begin, lockIssuer, requestJson, wakeIssuer } from "./requests";

type Held = { issuerId: string; version: number; approval: string; isOpen: boolean; author: Actor; tokenAuthor: Actor | null; proof: RequestProof };

/** Finds a request, with who made the API token that asked for it, and locks its issuer and then itself. */
async function hold(tx: Sql, organizationId: string, id: string): Promise<Held | undefined> {
  const [found] = await tx<{ issuerId: string }[]>`
    select issuer_id as "issuerId" from certificate_requests where organization_id = ${organizationId} and id = ${id}`;
  if (!found) return;
  await lockIssuer(tx, organizationId, found.issuerId);
  const [row] = await tx<Held[]>`
    select issuer_id as "issuerId", version, approval, ended_at is null as "isOpen", created_by as author, ${requestProofJson(tx)} as proof,
      (select t.created_by from api_tokens t where t.organization_id = r.organization_id and t.id::text = r.created_by->>'id') as "tokenAuthor"
    from certificate_requests r where organization_id = ${organizationId} and id = ${id} for update`;
  return row;
}

type Rejection = "not found" | "stale" | { inTheWay: string } | { forbidden: string };

/** Ends an open request. What its proofs have left behind is taken away by the job, after the server that is at work on it, if one is. */
export const cancelRequest = (pool: Pool, scope: Scope, { id, versions }: Target): Promise<Resource | Rejection> =>
  pool.begin(async (tx) => {
    const held = await hold(tx, scope.organizationId, id);
    if (!held) return "not found";
    if (!matchesVersion(versions, held.version)) return "stale";
    if (!held.isOpen) return { inTheWay: "The certificate request has ended already." };
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
    decided as (${notifyEnd(tx, "certificate_request_awaits_approval", tx`select organization_id, id from ended`)})
    select ${requestJson(tx)}::text as json, version from ended`;
  if (!row) throw new Error(`certificate request ${id} vanished while it was locked`);
  return row;
}

const isSame = (one: Actor | null, other: Actor) => one?.type === "user" && other.type === "user" && one.id === other.id;

/** Why this actor may not decide on the request, which takes four eyes. */
function findRejection({ isOpen, approval, author, tokenAuthor }: Held, { actor }: Scope): Rejection | undefined {
  if (actor.type !== "user") return { forbidden: "An approval needs the token of a user: this caller is known by headers or by an API token alone." };
  if (isSame(author, actor) || isSame(tokenAuthor, actor)) return { forbidden: "Another admin than the author of the certificate request decides on it." };
  if (!isOpen || approval !== "awaited") return { inTheWay: "The certificate request waits for no approval." };
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
    const held = await hold(tx, scope.organizationId, id);
    if (!held) return "not found";
    const rejection = findRejection(held, scope);
    if (rejection) return rejection;
    if (!matchesVersion(versions, held.version)) return "stale";
    if (decision.isApproved && !isRequestProven(stamps, held.proof)) return { inTheWay: HELD_REQUEST };
    if (decision.isApproved) return approve(tx, stamps, scope, id);
    return end(tx, scope, id, { action: "refused", reason: decision.reason, isRefusal: true });
  });

async function approve(tx: Sql, stamps: Stamps, scope: Scope, id: string): Promise<Resource> {
  const isIt = tx`organization_id = ${scope.organizationId} and id = ${id}`;
  await tx`
    with approved as (
      update certificate_requests set approval = 'given', approved_by = ${JSON.stringify(scope.actor)}::text::jsonb, version = version + 1, updated_at = now()
      where ${isIt} returning organization_id, id),
    decided as (${notifyEnd(tx, "certificate_request_awaits_approval", tx`select organization_id, id from approved`)})
    ${audit(tx, scope, "certificate-request.approved", tx`select id, '{}'::jsonb from approved`)}`;
  await stampRequest(tx, stamps, scope.organizationId, id);
  return begin(tx, isIt, "It was approved.");
}
