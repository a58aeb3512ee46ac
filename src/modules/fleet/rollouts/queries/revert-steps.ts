import type { Sql } from "#db/connect";
import type { Scope } from "#modules/people/audit/queries";
import { assignmentAt, BATCH_SIZE } from "./apply-steps";
import { auditPlaces, auditRenewals } from "./events";
import { theRollout } from "./progress";

/**
 * Undoes at most `BATCH_SIZE` steps of a rollout that is rolled back: deletes the assignments that it made, and gives the predecessor back
 * to those that it changed, where that place is still free. An assignment that has another certificate by now stays as it is. Returns true
 * when there may be more to undo.
 */
export async function revertSteps(tx: Sql, scope: Scope, id: string) {
  const [undone] = await tx<{ count: number }[]>`
    -- the next steps to undo, with their agents locked
    with due as materialized (
      select s.*, r.certificate_id, r.predecessor_id, agent.id as locked
      from ${theRollout(tx, scope.organizationId, tx`${id}`)}
      cross join lateral (
        select * from rollout_steps where organization_id = r.organization_id and rollout_id = r.id order by agent_id, id limit ${BATCH_SIZE}) as s
      left join lateral (
        select id from agents where agents.organization_id = s.organization_id and agents.id = s.agent_id for no key update) as agent on true
      where r.status = 'rolled_back'),
    -- deletes assignments that the rollout made
    deleted as (
      delete from assignments a using due
      where (a.organization_id, a.agent_id, a.id) = (due.organization_id, due.agent_id, due.assignment_id) and is_made
        and a.certificate_id = due.certificate_id returning a.*),
    -- gives the predecessor back to assignments that the rollout changed
    changed as (
      update assignments a set certificate_id = due.predecessor_id, version = a.version + 1, updated_at = now() from due
      where (a.organization_id, a.agent_id, a.id) = (due.organization_id, due.agent_id, due.assignment_id) and a.id = source_id
        and a.certificate_id = due.certificate_id and not exists (${assignmentAt(tx, tx`a`, tx`(due.predecessor_id, a.trust_store_type, a.target)`)})
      returning a.id, due.certificate_id as old, a.certificate_id as new),
    -- deletes the steps
    dropped as (
      delete from rollout_steps s using due
      where (s.organization_id, s.rollout_id, s.agent_id, s.id) = (due.organization_id, due.rollout_id, due.agent_id, due.id)),
    -- ends the work on the rollout, when these steps were the last
    settled as (
      update rollouts set is_busy = false
      where organization_id = ${scope.organizationId} and id = ${id} and status = 'rolled_back' and (select count(*) from due) < ${BATCH_SIZE}),
    -- audit events of the deleted assignments
    deleting as (${auditPlaces(tx, scope, id, "assignment.deleted", tx`deleted`)}),
    -- audit events of the changed assignments
    changing as (${auditRenewals(tx, scope, id, tx`changed`)})
    select count(*)::int as count from due`;
  return undone?.count === BATCH_SIZE;
}
