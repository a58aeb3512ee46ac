import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { columns, setAll } from "#modules/fleet/assignments/queries/columns";
import { auditAssignments } from "#modules/fleet/assignments/queries/events";
import { hasPlaceOf } from "#modules/fleet/assignments/queries/place";
import { isGoneFrom, removing } from "#modules/fleet/assignments/queries/removal";
import { isAnchor } from "#modules/fleet/rollouts/queries/apply-steps";
import { auditMany, type Scope } from "#modules/people/audit/queries";
import { isSuccessor, type Part, withMatches } from "./matches";

/** What a policy says of each of its assignments, but for the certificate and the config, which a rotation may have changed. */
const COMMON = ["certificateId", "config"] as const;

/**
 * Gives agents what the policies want of them, and takes what no policy wants any more. Runs under the fleet's lock. Locks the agents before
 * their assignments, as reports do; a statement that waited for such a lock would not see what was written meanwhile, hence the several.
 */
export async function applyPolicies(tx: Sql, scope: Scope, part: Part) {
  await tx`select from agents where organization_id = ${scope.organizationId} and id = any(${arrayOf(part.agentIds)}::uuid[]) order by id for no key update`;
  await removeExtras(tx, scope, part);
  await addAndChange(tx, scope, part);
}

const ofPolicy = (sql: Sql) => sql`jsonb_build_object('policyId', written.policy_id)`;

/** Removes the assignments of policies that do not match their agents any more, and those that a rotation has left behind. */
const removeExtras = (tx: Sql, scope: Scope, part: Part) => tx`
  ${withMatches(tx, part)},
  extra as materialized (
    select a.organization_id, a.agent_id, a.id, ${isGoneFrom(tx, tx`agents.last_seen_at`)} as is_gone from held a
    join agents on agents.organization_id = a.organization_id and agents.id = a.agent_id where part = 'extra'),
  deleted as (
    delete from assignments a using extra where (a.organization_id, a.agent_id, a.id) = (extra.organization_id, extra.agent_id, extra.id) and is_gone returning a.*),
  changed as (
    update assignments a set ${removing(tx)} from extra
    where (a.organization_id, a.agent_id, a.id) = (extra.organization_id, extra.agent_id, extra.id) and not is_gone returning a.*),
  audited as (${auditAssignments(tx, scope, "assignment.deleted", tx`deleted`, ofPolicy(tx), auditMany)}),
  asked as (${auditAssignments(tx, scope, "assignment.removing", tx`changed`, ofPolicy(tx), auditMany)})
  select count(*) from extra`;

/** Brings the other assignments of policies up to date, makes those that are missing, and notes where something else has their place. */
const addAndChange = (tx: Sql, scope: Scope, part: Part) => tx`
  ${withMatches(tx, part)},
  -- what each assignment is to be, and whether something else has that place
  due as materialized (
    select n.*, ${isTaken(tx, tx`n`, tx`n.policy_id`)} as is_taken
    from held join p on p.id = held.policy_id
    cross join lateral (
      select held.organization_id, held.agent_id, held.id, held.policy_id, held.certificate_id as old_certificate, ${columns(tx, "p", COMMON)},
        case when is_successor then held.certificate_id else p.certificate_id end as certificate_id,
        case when part = 'beside' then held.config else p.config end as config, case when part = 'beside' then held.target else p.target end as target offset 0) as n
    where part <> 'extra' and (${columns(tx, "held")}) is distinct from (${columns(tx, "n")})),
  changed as (
    update assignments a set ${setAll(tx, "due")}, target = due.target, version = a.version + 1, updated_at = now() from due
    where (a.organization_id, a.agent_id, a.id) = (due.organization_id, due.agent_id, due.id) and not is_taken
    returning a.id, a.policy_id, due.old_certificate as old, a.certificate_id as new),
  -- what policies lack, and whether the place is free; where two lack the same place, the older has it
  missing as materialized (
    select w.agent_id, w.policy_id, not ${isTaken(tx, tx`p`, tx`p.id`, tx`w.agent_id`)}
      and 1 = row_number() over (partition by w.agent_id, place_of(p.trust_store_type, p.material_type, p.certificate_id, p.config) order by w.policy_id)
      and 1 = row_number() over (partition by w.agent_id, p.trust_store_type, p.certificate_id, p.target order by w.policy_id) as is_free
    from wanted w join p on p.id = w.policy_id
    where may_add and not exists (
      select from assignments o where o.organization_id = p.organization_id and o.policy_id = p.id and o.agent_id = w.agent_id and o.removing_since is null
        and (o.certificate_id = p.certificate_id or not (${isAnchor(tx)} and ${isSuccessor(tx)})) offset 0)),
  made as (
    insert into assignments (organization_id, id, agent_id, policy_id, target, ${columns(tx)})
    select ${scope.organizationId}, new_id(), missing.agent_id, p.id, p.target, ${columns(tx, "p")} from missing join p on p.id = missing.policy_id where is_free
    returning *),
  -- where a policy has not what it wants
  conflict as materialized (
    select agent_id, policy_id from missing where not is_free union select agent_id, policy_id from due where is_taken),
  noted as (
    insert into policy_conflicts (organization_id, policy_id, agent_id)
    select ${scope.organizationId}, policy_id, agent_id from conflict on conflict do nothing),
  settled as (
    delete from policy_conflicts c using p
    where c.organization_id = p.organization_id and c.policy_id = p.id and c.agent_id = any(${arrayOf(part.agentIds)}::uuid[])
      and (c.agent_id, c.policy_id) not in (select agent_id, policy_id from conflict)),
  making as (${auditAssignments(tx, scope, "assignment.created", tx`made`, ofPolicy(tx), auditMany)}),
  changing as (${auditChanges(tx, scope)})
  select count(*) from made`;

/** SQL condition: something else on the agent has the place of the assignment or policy `row`. */
const isTaken = (sql: Sql, row: Fragment, policyId: Fragment, agentId = sql`${row}.agent_id`) => sql`exists (
  select from assignments o where o.organization_id = ${row}.organization_id and o.agent_id = ${agentId} and o.policy_id is distinct from ${policyId} and o.removing_since is null
    and ${hasPlaceOf(sql, sql`o`, row)} offset 0)`;

/** Events of changed assignments: which policy, whose own event tells the rest, and a certificate that is another. */
function auditChanges(sql: Sql, scope: Scope) {
  const rows = sql`
    select id, jsonb_build_object('policyId', policy_id, 'changes', case when old <> new
      then jsonb_build_object('certificateId', jsonb_build_object('from', old, 'to', new)) else '{}' end) from changed`;
  return auditMany(sql, scope, "assignment.updated", rows);
}
