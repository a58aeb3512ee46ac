import type { Stamps } from "#crypto/stamps";
import { arrayOf, type Sql } from "#db/connect";
import { columns, fromOrders, setAll } from "#modules/fleet/assignments/queries/columns";
import { auditAssignments } from "#modules/fleet/assignments/queries/events";
import { differsInPlace, hasPlaceOf } from "#modules/fleet/assignments/queries/place";
import { removing } from "#modules/fleet/assignments/queries/removal";
import {
  fromRemovals,
  isOrdered,
  type Order,
  orderPairs,
  removalWithStamp,
  type Stamped,
  stampText,
  withStamp,
} from "#modules/fleet/assignments/queries/stamps";
import { isAnchor } from "#modules/fleet/rollouts/queries/apply-steps";
import { auditMany, type Scope } from "#modules/people/audit/queries";
import { isSuccessor, type Part, withMatches } from "./matches";

/** The fields that a policy does not set on its existing assignments: a rotation may have changed them. */
const COMMON = ["certificateId", "config"] as const;

/**
 * Makes the agents' assignments as the policies want them, under the fleet's lock; unproven ones stay. Agents are locked first,
 * by a statement of its own: a waiting one would miss changes.
 */
export async function applyPolicies(tx: Sql, stamps: Stamps, scope: Scope, part: Part) {
  await tx`select from agents where organization_id = ${scope.organizationId} and id = any(${arrayOf(part.agentIds)}::uuid[]) order by id for no key update`;
  const extras = (await findExtras(tx, part)).filter((each) => isOrdered(stamps, each));
  await removeAll(tx, stamps, scope, extras);
  const judged = (await findDue(tx, part)).filter(({ was, stamp }) => was === null || isOrdered(stamps, { was, stamp }));
  const displaced = judged.flatMap(({ was, isGone, isTaken }) => (was && isTaken ? [{ was, isGone }] : []));
  await removeAll(tx, stamps, scope, displaced);
  const free = judged.filter(({ isTaken }) => !isTaken);
  await addAndChange(tx, scope, part, {
    made: free.filter(({ was }) => was === null).map(({ becomes }) => withStamp(stamps, { ...becomes, id: Bun.randomUUIDv7() })),
    changed: free.filter(({ was }) => was !== null).map(({ becomes }) => withStamp(stamps, becomes)),
    conflicts: judged.filter(({ isTaken }) => isTaken).map(({ becomes: { agentId, policyId } }) => ({ agentId, policyId })),
  });
}

type Removable = { was: Order; isGone: boolean };
type Due = { was: Order | null; stamp: string | null; isGone: boolean; becomes: Order & { target: string }; isTaken: boolean };

const ofPolicy = (sql: Sql) => sql`jsonb_build_object('policyId', written.policy_id)`;

/** Assignments of policies that do not match their agents any more, and those that a rotation has left behind. */
const findExtras = (tx: Sql, part: Part) => tx<(Stamped & Removable)[]>`
  ${withMatches(tx, part)}
  select json_build_object(${orderPairs(tx, "held")}) as was, ${stampText(tx, "held")} as stamp, is_gone as "isGone" from held where part = 'extra'`;

/** Deletes the assignments of which nothing can be on the host, and has agents remove the others. */
async function removeAll(tx: Sql, stamps: Stamps, scope: Scope, removable: Removable[]) {
  if (removable.length === 0) return;
  function given(isGone: boolean) {
    const removals = removable.filter((each) => each.isGone === isGone).map(({ was }) => removalWithStamp(stamps, was));
    return fromRemovals(tx, removals, "given");
  }
  await tx`
    with deleted as (
      delete from assignments a using ${given(true)}
      where (a.organization_id, a.agent_id, a.id) = (${scope.organizationId}, given.agent_id, given.id) returning a.*),
    changed as (
      update assignments a set ${removing(tx, tx`given.stamp`)} from ${given(false)}
      where (a.organization_id, a.agent_id, a.id) = (${scope.organizationId}, given.agent_id, given.id) returning a.*),
    audited as (${auditAssignments(tx, scope, "assignment.deleted", tx`deleted`, ofPolicy(tx), auditMany)}),
    asked as (${auditAssignments(tx, scope, "assignment.removing", tx`changed`, ofPolicy(tx), auditMany)})
    select count(*) from deleted`;
}

/**
 * Selects the assignments that policies change or lack (`was` is null), and whether something else has the place. Of two
 * policies with one place the older has it.
 */
const findDue = (tx: Sql, part: Part) => tx<Due[]>`
  ${withMatches(tx, part)},
  due as (
    select json_build_object(${orderPairs(tx, "held")}) as was, held.stamp, is_gone, ${differsInPlace(tx, tx`held`, tx`n`)} as moves, n.*
    from held join p on p.id = held.policy_id
    cross join lateral (
      select held.organization_id, held.agent_id, held.id, held.policy_id, ${columns(tx, "p", COMMON)},
        case when is_successor then held.certificate_id else p.certificate_id end as certificate_id,
        case when part = 'beside' then held.config else p.config end as config, case when part = 'beside' then held.target else p.target end as target offset 0) as n
    where part <> 'extra' and (${columns(tx, "held")}) is distinct from (${columns(tx, "n")})
    union all
    select null, null, false, true, p.organization_id, w.agent_id, null, p.id, ${columns(tx, "p", COMMON)}, p.certificate_id, p.config, p.target
    from wanted w join p on p.id = w.policy_id
    where may_add and not exists (
      select from assignments o where o.organization_id = p.organization_id and o.policy_id = p.id and o.agent_id = w.agent_id and o.removing_since is null
        and (o.certificate_id = p.certificate_id or not (${isAnchor(tx)} and ${isSuccessor(tx)})) offset 0))
  select was, ${stampText(tx, "due")} as stamp, is_gone as "isGone", json_build_object(${orderPairs(tx, "due")}, 'target', target) as becomes,
    moves and (is_taken
      or 1 < row_number() over (partition by is_taken, agent_id, place_of(trust_store_type, material_type, certificate_id, config) order by policy_id)
      or 1 < row_number() over (partition by is_taken, agent_id, trust_store_type, certificate_id, target order by policy_id)) as "isTaken"
  from due cross join lateral (select moves and ${isTaken(tx)} as is_taken offset 0) as other`;

/** Brings assignments of policies up to date, makes those that are missing, and notes where something else has their place. */
const addAndChange = (
  tx: Sql,
  scope: Scope,
  { agentIds, policyIds }: Part,
  { made, changed, conflicts }: Record<"made" | "changed" | "conflicts", object[]>,
) => tx`
  with before as materialized (
    select a.id, a.certificate_id from ${fromOrders(tx, changed, "given")} cross join lateral (
      select id, certificate_id from assignments where organization_id = ${scope.organizationId} and agent_id = given.agent_id and assignments.id = given.id offset 0) as a),
  changed as (
    update assignments a set ${setAll(tx, "given")}, target = given.target, stamp = given.stamp, version = a.version + 1, updated_at = now()
    from ${fromOrders(tx, changed, "given")} where (a.organization_id, a.agent_id, a.id) = (${scope.organizationId}, given.agent_id, given.id)
    returning a.id, a.policy_id, a.certificate_id as new),
  made as (
    insert into assignments (organization_id, id, agent_id, policy_id, target, stamp, ${columns(tx)})
    select ${scope.organizationId}, id, agent_id, policy_id, target, stamp, ${columns(tx)} from ${fromOrders(tx, made, "given")} returning *),
  -- where a policy has not what it wants
  conflict as materialized (
    select "agentId" as agent_id, "policyId" as policy_id from jsonb_to_recordset(${JSON.stringify(conflicts)}::jsonb) as given("agentId" uuid, "policyId" uuid)),
  noted as (
    insert into policy_conflicts (organization_id, policy_id, agent_id)
    select distinct ${scope.organizationId}::uuid, policy_id, agent_id from conflict on conflict do nothing),
  settled as (
    delete from policy_conflicts c
    where c.organization_id = ${scope.organizationId} and c.policy_id = any(${arrayOf(policyIds)}::uuid[]) and c.agent_id = any(${arrayOf(agentIds)}::uuid[])
      and (c.agent_id, c.policy_id) not in (select agent_id, policy_id from conflict)),
  making as (${auditAssignments(tx, scope, "assignment.created", tx`made`, ofPolicy(tx), auditMany)}),
  changing as (${auditChanges(tx, scope)})
  select count(*) from made`;

/** SQL condition: something else on the agent has the place of the row `due`. */
const isTaken = (sql: Sql) => sql`exists (
  select from assignments o where o.organization_id = due.organization_id and o.agent_id = due.agent_id and o.policy_id is distinct from due.policy_id and o.removing_since is null
    and ${hasPlaceOf(sql, sql`o`, sql`due`)} offset 0)`;

/** Events of changed assignments: which policy, whose own event says the rest, and a certificate that is another. */
function auditChanges(sql: Sql, scope: Scope) {
  const rows = sql`
    select changed.id, jsonb_build_object('policyId', policy_id, 'changes', case when certificate_id <> new
      then jsonb_build_object('certificateId', jsonb_build_object('from', certificate_id, 'to', new)) else '{}' end) from changed join before using (id)`;
  return auditMany(sql, scope, "assignment.updated", rows);
}
