import type { Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import { columns, fromJson, fromOrders, pairs } from "#modules/fleet/assignments/queries/columns";
import { hasPlaceOf, targetOf } from "#modules/fleet/assignments/queries/place";
import { isOrdered, type Order, type Stamped, stampText, withStamp } from "#modules/fleet/assignments/queries/stamps";
import type { Scope } from "#modules/people/audit/queries";
import { auditPlaces, auditRenewals } from "./events";
import { theRollout } from "./progress";

/** The fields that a step does not copy from its source assignment. */
const NEW = ["certificateId", "config"] as const;

/** Steps that one transaction takes: less than a second of work, even while the database is busy. */
export const BATCH_SIZE = 5_000;

/** SQL condition: a store may hold several assignments like `o`. One of any other kind replaces the one before. */
export const isAnchor = (sql: Sql) => sql`o.material_type in ('trust_anchor', 'intermediate_ca')`;

/** SQL condition: the assignment `o` gets a successor automatically. */
export const isRenewed = (sql: Sql) => sql`o.auto_renew and o.config->'autoRenew' is distinct from 'false'`;

/** SQL condition: the certificate of the rollout `r` may replace the one of the assignment `o`. */
export const isSuited = (sql: Sql) =>
  sql`(r.has_key or not o.include_private_key) and case when ${isAnchor(sql)} then r.is_authority else ${isRenewed(sql)} end`;

/** Selects the id of the assignment at `place` (certificate, store, target) on the agent of `row`. */
export const assignmentAt = (sql: Sql, row: Fragment, place: Fragment) => sql`
  select holder.id from assignments holder where (holder.organization_id, holder.agent_id) = (${row}.organization_id, ${row}.agent_id)
    and (holder.certificate_id, holder.trust_store_type, holder.target) is not distinct from ${place} and holder.removing_since is null offset 0`;

/**
 * The config of the predecessor's assignment `o` with another alias and file name, at most 200 characters each, so that both can be
 * installed.
 */
export const renamedConfig = (sql: Sql) => sql`o.config || jsonb_strip_nulls(jsonb_build_object(
  'alias', right(o.config->>'alias' || '-' || left(r.fingerprint_sha256, 8), 200),
  'certFileName', right(regexp_replace(o.config->>'certFileName', '(\\.[^.]*)?$', '-' || left(r.fingerprint_sha256, 8) || '\\1'), 200)))`;

/**
 * Selects whether the template's first assignment `o` must not be made: a policy has the place or, in a policy's rollout, the
 * agent no longer matches or has something else there.
 */
const isBlocked = (sql: Sql) => sql`
  select not coalesce(r.selector_path is null or agent.labels @@ r.selector_path::jsonpath, false) or (r.policy_id is not null or there.id is null) and exists (
    select from (select o.trust_store_type, o.material_type, r.certificate_id, new.config, new.target) as spot
    join assignments holder on holder.organization_id = s.organization_id and holder.agent_id = s.agent_id and holder.policy_id is distinct from r.policy_id and holder.removing_since is null
      and ${hasPlaceOf(sql, sql`holder`, sql`spot`)} offset 0) as is_blocked`;

type Due = { agentId: string; id: string; isDue: boolean; isNew: boolean; isThere: boolean; source: Stamped | null; becomes: Order & { target: string } };

/**
 * Applies up to `BATCH_SIZE` steps of open rings, and deletes unneeded and unproven ones; true when the batch was full. Locks
 * the agents before their assignments, as reports do.
 */
export async function applySteps(tx: Sql, stamps: Stamps, scope: Scope, id: string) {
  await lockSteps(tx, nextSteps(tx, theRollout(tx, scope.organizationId, tx`${id}`)), tx`s.source_id`, tx`r.status = 'running'`);
  const steps = await findDue(tx, scope.organizationId, id);
  if (steps.length === 0) return false;
  const proven = steps.filter(({ source }) => source === null || isOrdered(stamps, source));
  const due = proven.filter(({ isDue }) => isDue);
  const orders = due.filter(({ isNew, isThere }) => !isNew || !isThere).map(({ becomes, isNew }) => ({ ...withStamp(stamps, becomes), isNew }));
  await takeSteps(tx, scope, id, {
    made: orders.filter(({ isNew }) => isNew),
    changed: orders.filter(({ isNew }) => !isNew),
    taken: due.map(({ agentId, id, becomes, isNew, isThere }) => ({ agentId, id, assignmentId: becomes.id, isMade: isNew && !isThere })),
    dropped: steps.filter((step) => !due.includes(step)).map(({ agentId, id }) => ({ agentId, id })),
  });
  return proven.length === BATCH_SIZE;
}

/** Part of a statement: the rollout `r` with its next steps `s`. */
const nextSteps = (sql: Sql, rollout: Fragment) => sql`${rollout} cross join lateral (
  select organization_id, rollout_id, agent_id, id, source_id from rollout_steps
  where organization_id = r.organization_id and rollout_id = r.id and ring <= r.open_ring and assignment_id is null
  order by ring, agent_id, id limit ${BATCH_SIZE}) as s`;

/**
 * Locks the agents of the steps `s` of `from`, where the rollout `r` is such, and then their assignments: what is read
 * afterwards does not change meanwhile.
 */
export const lockSteps = (tx: Sql, from: Fragment, assignmentId: Fragment, where: Fragment) => tx`
  select from ${from}
  cross join lateral (select from agents where agents.organization_id = s.organization_id and agents.id = s.agent_id for no key update) as agent
  left join lateral (
    select from assignments a where (a.organization_id, a.agent_id, a.id) = (s.organization_id, s.agent_id, ${assignmentId}) offset 0 for no key update) as held on true
  where ${where}`;

/** The next steps: isDue when needed, isNew when it makes an assignment, isThere when that is made already. */
const findDue = (tx: Sql, organizationId: string, id: string) => tx<Due[]>`
  with due as materialized (
      select s.*, r.certificate_id, r.predecessor_id, ${columns(tx, "o", NEW)}, o.config as old_config, o.stamp, new.config, new.target, o.policy_id, is_new, there.id as there_id,
        case when is_new then coalesce(there.id, new_id()) else s.source_id end as place_id,
        coalesce(s.source_id is null and o.enabled and not is_blocked or s.source_id is not null and ${isSuited(tx)} and (is_new or there.id is null), false) as is_due
      from ${nextSteps(tx, theRollout(tx, organizationId, tx`${id}`))}
      left join lateral (select id, labels from agents where agents.organization_id = s.organization_id and agents.id = s.agent_id offset 0) as agent on true
      left join lateral (
        select ${columns(tx)}, policy_id, stamp from assignments
        where (organization_id, agent_id, id) = (s.organization_id, s.agent_id, s.source_id) and certificate_id = r.predecessor_id
        union all
        select ${columns(tx)}, r.policy_id, null from ${fromJson(tx, tx`r.assignment || '{"enabled": true}'`, "given")} where s.source_id is null offset 0) as o on agent.id is not null
      cross join lateral (select s.source_id is null or ${isAnchor(tx)} as is_new) as kind
      cross join lateral (
        select config, ${targetOf(tx, tx`o`, tx`config`)} as target from (
          select case when is_new and s.source_id is not null then ${renamedConfig(tx)} else o.config end as config) as named) as new
      left join lateral (${assignmentAt(tx, tx`s`, tx`(r.certificate_id, o.trust_store_type, new.target)`)}) as there on true
      cross join lateral (${isBlocked(tx)}) as other
      where r.status = 'running')
    select agent_id as "agentId", id, is_due as "isDue", is_new as "isNew", there_id is not null as "isThere",
      json_build_object('organizationId', organization_id, 'agentId', agent_id, 'id', place_id, 'policyId', policy_id, ${pairs(tx, "due")}, 'target', target) as becomes,
      case when source_id is not null then json_build_object('stamp', ${stampText(tx, "due")}, 'was', json_build_object('organizationId', organization_id, 'agentId', agent_id,
        'id', source_id, 'policyId', policy_id, ${pairs(tx, "due", NEW)}, 'certificateId', predecessor_id, 'config', old_config)) end as source
    from due`;

type Taken = Record<"made" | "changed" | "taken" | "dropped", object[]>;

const takeSteps = (tx: Sql, scope: Scope, id: string, { made, changed, taken, dropped }: Taken) => tx`
    -- adds the new assignments
    with made as (
      insert into assignments (organization_id, id, agent_id, policy_id, target, stamp, ${columns(tx)})
      select ${scope.organizationId}, id, agent_id, policy_id, target, stamp, ${columns(tx)} from ${fromOrders(tx, made, "given")} on conflict do nothing returning *),
    -- gives the successor to assignments of the predecessor
    changed as (
      update assignments a set certificate_id = given.certificate_id, stamp = given.stamp, version = a.version + 1, updated_at = now()
      from ${fromOrders(tx, changed, "given")} join rollouts r on r.organization_id = ${scope.organizationId} and r.id = ${id}
      where (a.organization_id, a.agent_id, a.id) = (r.organization_id, given.agent_id, given.id) and a.certificate_id = r.predecessor_id and a.removing_since is null
      returning a.id, r.predecessor_id as old, a.certificate_id as new),
    -- stores in each step which assignment it has
    taken as (
      update rollout_steps s set assignment_id = given."assignmentId", is_made = given."isMade"
      from jsonb_to_recordset(${JSON.stringify(taken)}::jsonb) as given("agentId" uuid, id uuid, "assignmentId" uuid, "isMade" boolean)
      where (s.organization_id, s.rollout_id, s.agent_id, s.id) = (${scope.organizationId}, ${id}, given."agentId", given.id)),
    -- deletes the steps that are not needed
    dropped as (${dropSteps(tx, scope.organizationId, id, dropped)}),
    -- audit events of the new assignments
    making as (${auditPlaces(tx, scope, id, "assignment.created", tx`made`)}),
    -- audit events of the changed assignments
    changing as (${auditRenewals(tx, scope, id, tx`changed`)})
    select count(*) from made`;

/** Part of a statement: deletes steps of a rollout. */
export const dropSteps = (sql: Sql, organizationId: string, rolloutId: string, steps: readonly object[]) => sql`
  delete from rollout_steps s using jsonb_to_recordset(${JSON.stringify(steps)}::jsonb) as given("agentId" uuid, id uuid)
  where (s.organization_id, s.rollout_id, s.agent_id, s.id) = (${organizationId}, ${rolloutId}, given."agentId", given.id)`;
