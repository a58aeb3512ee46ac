import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { columns, fromOrders, pairs } from "#modules/fleet/assignments/queries/columns";
import { auditAssignments } from "#modules/fleet/assignments/queries/events";
import { policyAt, targetOf } from "#modules/fleet/assignments/queries/place";
import { isOrdered, type Order, type Stamped, stampText, wholeOrderPairs, withStamp } from "#modules/fleet/assignments/queries/stamps";
import { describeHolder, type Holder, heldSentence } from "#modules/fleet/assignments/rules";
import { audit, type Scope } from "#modules/people/audit/queries";
import { fromDeployment, isRequestProven, placeOf, type RequestProof, requestProofJson } from "./asked-keys";

type Found = {
  agentId: string;
  proof: RequestProof;
  /** The assignment that gets the certificate; null where one is made. */
  source: Stamped | null;
  becomes: Order & { target: string };
  holder: Holder | null;
  policyId: string | null;
};

/**
 * Gives a request's certificate to its assignment, made if missing, whose key stays on the host; runs in the issuing
 * transaction. Returns why it could not be given, if so.
 */
export async function deployIssued(tx: Sql, stamps: Stamps, scope: Scope, requestId: string, certificateId: string): Promise<string | undefined> {
  const { organizationId } = scope;
  await lockPlace(tx, organizationId, requestId);
  const [found] = await tx<Found[]>`
    with r as materialized (select * from certificate_requests where organization_id = ${organizationId} and id = ${requestId}),
    agent as (select a.organization_id, a.id from r join agents a on a.organization_id = r.organization_id and a.id = r.agent_id),
    due as (
      select r.organization_id, r.agent_id, coalesce(place.id, r.id) as id, place.policy_id, coalesce(place.application_id, wanted.application_id) as application_id,
        ${certificateId}::uuid as certificate_id, coalesce(place.trust_store_type, wanted.trust_store_type) as trust_store_type,
        coalesce(place.material_type, wanted.material_type) as material_type, false as include_private_key, coalesce(place.config, wanted.config) as config,
        coalesce(place.auto_renew, true) as auto_renew, coalesce(place.enabled, true) as enabled,
        case when place.id is not null then json_build_object('was', json_build_object(${wholeOrderPairs(tx, "place")}), 'stamp', ${stampText(tx, "place")}) end as source
      from r ${placeOf(tx)} cross join ${fromDeployment(tx, tx`r.deployment`)})
    select r.agent_id as "agentId", ${requestProofJson(tx)} as proof, source, due.policy_id as "policyId",
      json_build_object('organizationId', due.organization_id, 'agentId', due.agent_id, 'id', due.id, 'policyId', due.policy_id, 'keyOnHost', true,
        ${pairs(tx, "due")}, 'target', ${targetOf(tx, tx`due`)}) as becomes,
      case when source is null then ${policyAt(tx, organizationId, tx`due`, tx`null::uuid`)} end as holder
    from r cross join due`;
  if (!found) return "The agent that made its key was deleted meanwhile.";
  const { agentId, proof, source, becomes, holder, policyId } = found;
  if (!isRequestProven(stamps, proof)) return "No server ordered it as it is.";
  if (holder) return describeHolder(holder, agentId);
  if (policyId !== null) return `The assignment ${becomes.id} belongs to a policy, which gives the same certificate to all of its agents.`;
  if (source && !isOrdered(stamps, source)) return heldSentence("assignment", becomes.id);
  await (source ? change : make)(tx, scope, withStamp(stamps, becomes));
}

const make = (tx: Sql, scope: Scope, order: object) => tx`
  with made as (
    insert into assignments (organization_id, id, agent_id, target, stamp, key_on_host, ${columns(tx)})
    select ${scope.organizationId}, id, agent_id, target, stamp, true, ${columns(tx)} from ${fromOrders(tx, [order], "given")} returning *)
  ${auditAssignments(tx, scope, "assignment.created", tx`made`, tx`jsonb_build_object('keyOnHost', true)`)}`;

const change = (tx: Sql, scope: Scope, order: object) => tx`
  with changed as (
    update assignments a set certificate_id = given.certificate_id, include_private_key = false, key_on_host = true, stamp = given.stamp,
      version = a.version + 1, updated_at = now()
    from ${fromOrders(tx, [order], "given")} join assignments before using (id)
    where a.organization_id = ${scope.organizationId} and a.agent_id = given.agent_id and a.id = given.id
      and before.organization_id = a.organization_id and before.agent_id = a.agent_id
    returning a.id, jsonb_build_object('certificateId', jsonb_build_object('from', before.certificate_id, 'to', a.certificate_id), 'keyOnHost',
      case when not before.key_on_host then jsonb_build_object('from', false, 'to', true) end) as changes)
  ${audit(tx, scope, "assignment.updated", tx`select id, jsonb_build_object('changes', jsonb_strip_nulls(changes)) from changed`)}`;

/**
 * Locks the agent of a request, and then its assignments of the certificate that is replaced: what is read afterwards does not
 * change meanwhile.
 */
const lockPlace = (tx: Sql, organizationId: string, requestId: string) => tx`
  select from certificate_requests r
  cross join lateral (select from agents where agents.organization_id = r.organization_id and agents.id = r.agent_id for no key update) as agent
  left join lateral (
    select from assignments a where (a.organization_id, a.agent_id, a.certificate_id) = (r.organization_id, r.agent_id, r.replaces) offset 0 for no key update) as held on true
  where r.organization_id = ${organizationId} and r.id = ${requestId}`;
