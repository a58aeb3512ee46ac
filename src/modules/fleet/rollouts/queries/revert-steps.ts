import type { Sql } from "#db/connect";
import { isGoneFrom, removing } from "#modules/fleet/assignments/queries/removal";
import { audit, type Scope } from "#modules/people/audit/queries";
import { assignmentAt, BATCH_SIZE } from "./apply-steps";
import { auditPlaces, auditRenewals } from "./events";
import { theRollout } from "./progress";

/**
 * Undoes at most `BATCH_SIZE` steps of a rollout that is rolled back: has the assignments that it made removed, and gives the predecessor
 * back to those that it changed, where that place is still free. An assignment that has another certificate by now stays as it is. Returns
 * true when there may be more to undo.
 */
export async function revertSteps(tx: Sql, scope: Scope, id: string) {
  const isMade = tx`(a.organization_id, a.agent_id, a.id) = (due.organization_id, due.agent_id, due.assignment_id) and is_made and a.certificate_id = due.certificate_id`;
  const [undone] = await tx<{ count: number }[]>`
    -- the next steps to undo, with their agents locked
    with due as materialized (
      select s.*, r.certificate_id, r.predecessor_id, agent.last_seen_at
      from ${theRollout(tx, scope.organizationId, tx`${id}`)}
      cross join lateral (
        select * from rollout_steps where organization_id = r.organization_id and rollout_id = r.id order by agent_id, id limit ${BATCH_SIZE}) as s
      left join lateral (
        select last_seen_at from agents where agents.organization_id = s.organization_id and agents.id = s.agent_id for no key update) as agent on true
      where r.status in ('rolling_back', 'rolled_back')),
    -- deletes assignments that the rollout made, where nothing of them is on the host
    deleted as (
      delete from assignments a using due where ${isMade} and ${isGoneFrom(tx, tx`due.last_seen_at`)} returning a.*),
    -- asks the agents to remove the others
    asked as (
      update assignments a set ${removing(tx)}, rollback_id = due.rollout_id from due
      where ${isMade} and not ${isGoneFrom(tx, tx`due.last_seen_at`)} and a.removing_since is null returning a.*),
    -- gives the predecessor back to assignments that the rollout changed
    changed as (
      update assignments a set certificate_id = due.predecessor_id, rollback_id = case when due.last_seen_at is not null then due.rollout_id end, version = a.version + 1, updated_at = now() from due
      where (a.organization_id, a.agent_id, a.id) = (due.organization_id, due.agent_id, due.assignment_id) and a.id = source_id
        and a.certificate_id = due.certificate_id and a.removing_since is null and not exists (${assignmentAt(tx, tx`a`, tx`(due.predecessor_id, a.trust_store_type, a.target)`)})
      returning a.id, due.certificate_id as old, a.certificate_id as new),
    -- deletes the steps
    dropped as (
      delete from rollout_steps s using due
      where (s.organization_id, s.rollout_id, s.agent_id, s.id) = (due.organization_id, due.rollout_id, due.agent_id, due.id)),
    -- audit events of the deleted assignments
    deleting as (${auditPlaces(tx, scope, id, "assignment.deleted", tx`deleted`)}),
    -- audit events of the assignments that agents are to remove
    asking as (${auditPlaces(tx, scope, id, "assignment.removing", tx`asked`)}),
    -- audit events of the changed assignments
    changing as (${auditRenewals(tx, scope, id, tx`changed`)})
    select count(*)::int as count from due`;
  return undone?.count === BATCH_SIZE;
}

/**
 * SQL condition: the agent has done what the rollback asks of the assignment `a` with the certificate `c`, as far as it can: what is removing
 * was kept for a reason, or the certificate that it has back is observed. What was removed is no assignment any more.
 */
export const hasActed = (sql: Sql) => sql`case
  when a.removing_since is not null then a.reported_state = 'kept' and a.reported_at >= a.removing_since
  else not a.enabled or c.status <> 'active' or a.reported_state in ('installed', 'drifted') and a.reported_fingerprint = c.fingerprint_sha256 end is true`;

/** Ends a rollback once every agent has acted, or is gone. */
export async function settleRollback(tx: Sql, scope: Scope, id: string) {
  await tx`
    -- the assignments of which the rollback asks something
    with asked as materialized (
      select a.organization_id, a.agent_id, a.id, a.removing_since, ${hasActed(tx)} as has_acted
      from assignments a join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id
      where a.organization_id = ${scope.organizationId} and a.rollback_id = ${id}),
    -- asks no more of those that have their certificate back
    released as (
      update assignments a set rollback_id = null from asked
      where (a.organization_id, a.agent_id, a.id) = (asked.organization_id, asked.agent_id, asked.id) and has_acted and asked.removing_since is null),
    changed as (
      update rollouts set status = 'rolled_back', is_busy = false, version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${id} and status = 'rolling_back'
        and not exists (select from rollout_steps s where s.organization_id = rollouts.organization_id and s.rollout_id = rollouts.id)
        and not exists (select from asked where not has_acted) returning id),
    audited as (${audit(tx, scope, "rollout.rolled-back", tx`select id, '{}'::jsonb from changed`)})
    select from changed`;
}
