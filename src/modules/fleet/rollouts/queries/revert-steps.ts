import type { Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import { fromOrders } from "#modules/fleet/assignments/queries/columns";
import { isGoneFrom, removing } from "#modules/fleet/assignments/queries/removal";
import { fromRemovals, isOrdered, orderPairs, removalWithStamp, type Stamped, stampText, withStamp } from "#modules/fleet/assignments/queries/stamps";
import { audit, type Scope } from "#modules/people/audit/queries";
import { assignmentAt, BATCH_SIZE, dropSteps, lockSteps } from "./apply-steps";
import { auditPlaces, auditRenewals } from "./events";
import { theRollout } from "./progress";
import { stampRollout } from "./stamps";

/** The undoing of a step: its assignment is deleted, asked to be removed, or gets the predecessor back. */
type Undoing = "delete" | "ask" | "restore";
type Due = { agentId: string; id: string; predecessorId: string | null; undoing: Undoing | null; assignment: Stamped | null };

/**
 * Undoes up to `BATCH_SIZE` steps, and returns true when there may be more. Their assignments are removed or get the
 * predecessor back where its place is free; changed or unproven ones stay.
 */
export async function revertSteps(tx: Sql, stamps: Stamps, scope: Scope, id: string) {
  await lockSteps(tx, lastSteps(tx, theRollout(tx, scope.organizationId, tx`${id}`)), tx`s.assignment_id`, tx`r.status in ('rolling_back', 'rolled_back')`);
  const steps = await findSteps(tx, scope.organizationId, id);
  if (steps.length === 0) return false;
  const undone = (kind: Undoing) =>
    steps.flatMap(({ undoing, assignment, predecessorId }) =>
      undoing === kind && assignment && isOrdered(stamps, assignment) ? { was: assignment.was, predecessorId } : [],
    );
  await undoSteps(tx, scope, id, {
    steps: steps.map(({ agentId, id }) => ({ agentId, id })),
    gone: undone("delete").map(({ was }) => ({ agentId: was.agentId, id: was.id })),
    asked: undone("ask").map(({ was }) => removalWithStamp(stamps, was)),
    restored: undone("restore").map(({ was, predecessorId }) => withStamp(stamps, { ...was, certificateId: predecessorId })),
  });
  return steps.length === BATCH_SIZE;
}

const lastSteps = (sql: Sql, rollout: Fragment) => sql`${rollout} cross join lateral (
  select * from rollout_steps where organization_id = r.organization_id and rollout_id = r.id order by agent_id, id limit ${BATCH_SIZE}) as s`;

/** The next steps to undo, and what undoes each. */
const findSteps = (tx: Sql, organizationId: string, id: string) => tx<Due[]>`
  with due as materialized (
    select s.*, r.certificate_id, r.predecessor_id, agent.last_seen_at
    from ${lastSteps(tx, theRollout(tx, organizationId, tx`${id}`))}
    left join lateral (select last_seen_at from agents where agents.organization_id = s.organization_id and agents.id = s.agent_id offset 0) as agent on true
    where r.status in ('rolling_back', 'rolled_back'))
  select due.agent_id as "agentId", due.id, due.predecessor_id as "predecessorId", case
      when is_made and ${isGoneFrom(tx, tx`due.last_seen_at`)} then 'delete'
      when is_made and a.removing_since is null then 'ask'
      when a.id = source_id and a.removing_since is null and not exists (${assignmentAt(tx, tx`a`, tx`(due.predecessor_id, a.trust_store_type, a.target)`)}) then 'restore' end as undoing,
    case when a.id is not null then json_build_object('was', json_build_object(${orderPairs(tx, "a")}), 'stamp', ${stampText(tx, "a")}) end as assignment
  from due left join lateral (
    select * from assignments where (organization_id, agent_id, id) = (due.organization_id, due.agent_id, due.assignment_id) and certificate_id = due.certificate_id offset 0) as a on true`;

type Undone = Record<"steps" | "gone" | "asked" | "restored", object[]>;

const undoSteps = (tx: Sql, scope: Scope, id: string, { steps, gone, asked, restored }: Undone) => tx`
    -- deletes assignments that the rollout made, where nothing of them is on the host
    with deleted as (
      delete from assignments a using jsonb_to_recordset(${JSON.stringify(gone)}::jsonb) as given("agentId" uuid, id uuid)
      where (a.organization_id, a.agent_id, a.id) = (${scope.organizationId}, given."agentId", given.id) returning a.*),
    -- asks the agents to remove the others
    asked as (
      update assignments a set ${removing(tx, tx`given.stamp`)}, rollback_id = ${id} from ${fromRemovals(tx, asked, "given")}
      where (a.organization_id, a.agent_id, a.id) = (${scope.organizationId}, given.agent_id, given.id) returning a.*),
    -- gives the predecessor back to assignments that the rollout changed
    changed as (
      update assignments a set certificate_id = given.certificate_id, stamp = given.stamp, rollback_id = case when last_seen_at is not null then ${id}::uuid end,
        version = a.version + 1, updated_at = now()
      from ${fromOrders(tx, restored, "given")} join agents on agents.organization_id = ${scope.organizationId} and agents.id = given.agent_id
      join rollouts r on r.organization_id = agents.organization_id and r.id = ${id}
      where (a.organization_id, a.agent_id, a.id) = (agents.organization_id, given.agent_id, given.id)
      returning a.id, r.certificate_id as old, a.certificate_id as new),
    -- deletes the steps
    dropped as (${dropSteps(tx, scope.organizationId, id, steps)}),
    -- audit events of the deleted assignments
    deleting as (${auditPlaces(tx, scope, id, "assignment.deleted", tx`deleted`)}),
    -- audit events of the assignments that agents are to remove
    asking as (${auditPlaces(tx, scope, id, "assignment.removing", tx`asked`)}),
    -- audit events of the changed assignments
    changing as (${auditRenewals(tx, scope, id, tx`changed`)})
    select count(*) from deleted`;

/**
 * SQL condition: the agent has done what the rollback asks for the assignment `a` with the certificate `c`: it kept a removed
 * one for a reason, or the restored certificate is observed.
 */
export const hasActed = (sql: Sql) => sql`case
  when a.removing_since is not null then a.reported_state = 'kept' and a.reported_at >= a.removing_since
  else not a.enabled or c.status <> 'active' or a.reported_state in ('installed', 'drifted') and a.reported_fingerprint = c.fingerprint_sha256 end is true`;

/** Ends a rollback once every agent has acted, or is gone. */
export async function settleRollback(tx: Sql, stamps: Stamps, scope: Scope, id: string) {
  const [settled] = await tx`
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
    select id from changed`;
  if (settled) await stampRollout(tx, stamps, scope.organizationId, id);
}
