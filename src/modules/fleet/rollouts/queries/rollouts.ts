import type { Stamps } from "#crypto/stamps";
import type { Fragment, Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { type Resource, type Target, updateLocked } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { withFleetLock } from "#modules/fleet/agents/queries/fleet-lock";
import { ineligibility } from "#modules/fleet/assignments/queries/assignments";
import type { Ineligible } from "#modules/fleet/assignments/rules";
import { audit, type Scope, userOf } from "#modules/people/audit/queries";
import { askedOf, type CompiledRing, type Template } from "../rules";
import { assignRings } from "./assign-rings";
import { withProgress } from "./progress";
import { reconcileInTransaction, recordTransition } from "./reconcile";
import { hasActed, revertSteps, settleRollback } from "./revert-steps";
import { stampRollout, whyUnproven } from "./stamps";

/** The columns that every answer shows, as json text; `more` adds names and values. */
const rolloutJson = (sql: Sql, more: Fragment) => sql`json_build_object('id', id, 'organizationId', organization_id, 'name', name, 'status', status,
  'reason', reason, 'certificateId', certificate_id, 'predecessorId', predecessor_id, 'assignment', assignment, 'haltShare', halt_share,
  'successShare', success_share, 'heldSince', iso(held_since), 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at), ${more})::text`;

/** The rings as they were asked for, and what is in each. */
const ringsJson = (sql: Sql) => sql`(
  select json_agg(json_build_object('selector', asked->'selector', 'share', asked->'share',
    'agents', coalesce(agents, 0), 'observed', coalesce(ring.observed, 0), 'failed', coalesce(ring.failed, 0), 'pending', coalesce(agents - ring.observed - ring.failed, 0),
    'state', case when status in ('rolling_back', 'rolled_back') then status::text when place > open_ring then 'waiting'
      when ring.observed::float8 / nullif(agents, 0) < success_share then 'open' else 'done' end) order by place)
  from jsonb_array_elements(rings) with ordinality as listed (asked, place) left join ring on ring = place)`;

/** Agents that a rollback names, at most. */
const MAX_NAMED = 100;

/**
 * How far a rollback is: how many assignments wait for their agents, and the agents that fail or keep it, the first by id; null
 * before one.
 */
const rollbackJson = (sql: Sql) => sql`(
  select case when progress.status in ('rolling_back', 'rolled_back') then json_build_object('pending', count(*) filter (where not has_acted),
    'failing', coalesce(json_agg(json_build_object('agentId', agent_id, 'agentName', name, 'assignmentId', asked.id, 'state', state, 'message', message)
      order by agent_id, asked.id) filter (where place <= ${MAX_NAMED} and is_failing), '[]')) end
  from (
    select *, row_number() over (partition by is_failing order by agent_id, id) as place from (
      select a.agent_id, a.id, agents.name, a.reported_state as state, a.reported_message as message, ${hasActed(sql)} as has_acted,
        (a.reported_state in ('failed', 'refused', 'kept') and a.reported_at >= a.updated_at) is true as is_failing
      from assignments a join agents on agents.organization_id = a.organization_id and agents.id = a.agent_id
      join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id
      where a.organization_id = progress.organization_id and a.rollback_id = progress.id) as judged) as asked)`;

export async function findRollout(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<Resource[]>`
    ${withProgress(sql, organizationId, sql`${id}`)}
    select version, ${rolloutJson(sql, sql`'skipped', left_alone, 'rollback', ${rollbackJson(sql)}, 'rings', ${ringsJson(sql)}`)} as json from progress`;
  return row;
}

/** The newest first; one more than `limit`. */
export async function listRollouts(sql: Sql, organizationId: string, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${rolloutJson(sql, sql`'rings', rings`)} as json from rollouts
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

type NewRollout = { name: string; certificateId: string; template: Template; rings: CompiledRing[]; haltShare: number; successShare: number };
/** The rollout's id, and the labels of the only agents that it is for, as a jsonpath. */
type Bounds = { id: string; path: string | null };

/** Assigns the agents to the rings and starts the first ring. */
export function createRollout(sql: Pool, stamps: Stamps, scope: Scope, given: NewRollout, now: Date): Promise<(Resource & { id: string }) | Ineligible> {
  const id = Bun.randomUUIDv7();
  return withFleetLock(sql, scope.organizationId, async (tx) => {
    const fault = await startRollout(tx, stamps, scope, given, { id, path: null }, now);
    return fault ?? { id, ...(await show(tx, scope.organizationId, id)) };
  });
}

/** The same in a transaction under the fleet's lock. Returns why the certificate is not fit, if so. */
export async function startRollout(tx: Sql, stamps: Stamps, scope: Scope, given: NewRollout, { id, path }: Bounds, now: Date) {
  const { organizationId } = scope;
  const { certificateId, template, rings } = given;
  const demands = { isChosen: tx`true`, material: tx`${template.materialType}::text`, withKey: tx`${template.includePrivateKey}` };
  const [judged] = await tx<{ fault: Ineligible | null }[]>`
      -- the certificate, with the reason to reject it or null
      with judged as (
        select c.id as certificate_id, template, case ${ineligibility(tx, demands)} end as fault
        from (select ${JSON.stringify(template)}::jsonb as template) as given
        left join certificates c on c.organization_id = ${organizationId} and c.id = ${certificateId}),
      -- all agents that it is for
      agent as (
        select id as agent_id, labels from agents
        where organization_id = ${organizationId} ${path === null ? tx`` : tx`and labels @@ ${path}::jsonpath`}),
      -- adds a step for each agent that a ring selects
      planned as (
        insert into rollout_steps (organization_id, rollout_id, agent_id, id, ring)
        select ${organizationId}, ${id}, agent_id, agent_id, ring from (${assignRings(tx, tx`agent`, rings)}) as assigned, judged where ring is not null and fault is null),
      -- adds the rollout, unless it is rejected
      created as (
        insert into rollouts (organization_id, id, name, certificate_id, assignment, rings, halt_share, success_share, created_by)
        select ${organizationId}, ${id}, ${given.name}, certificate_id, template || jsonb_build_object('certificateId', certificate_id), ${askedOf(rings)}::jsonb,
          ${given.haltShare}, ${given.successShare}, ${userOf(scope)} from judged where fault is null returning id, name, certificate_id),
      -- the audit event of the rollout
      audited as (${audit(tx, scope, "rollout.created", tx`select id, jsonb_build_object('name', name, 'certificateId', certificate_id) from created`)})
      select fault from judged`;
  if (judged?.fault) return judged.fault;
  await stampRollout(tx, stamps, organizationId, id);
  await reconcileInTransaction(tx, stamps, scope, id, now);
}

const ON_REQUEST = "Halted on request.";

export const haltRollout = (sql: Pool, stamps: Stamps, scope: Scope, target: Target) =>
  transition(sql, stamps, scope, target, sql`r.status = 'running'`, (tx) =>
    recordTransition(tx, stamps, scope, target.id, { action: "halted", reason: ON_REQUEST }, tx`status = 'halted', is_busy = false, reason = ${ON_REQUEST}`),
  );

/** Resumes a halted rollout. Earlier failures no longer count: only newer reports halt it again. */
export const resumeRollout = (sql: Pool, stamps: Stamps, scope: Scope, target: Target, haltShare: number | undefined, now: Date) =>
  transition(sql, stamps, scope, target, sql`r.status = 'halted'`, async (tx) => {
    const changes = tx`status = 'running', is_busy = true, reason = null, resumed_at = ${now.toISOString()}, halt_share = coalesce(${haltShare ?? null}, halt_share)`;
    await recordTransition(tx, stamps, scope, target.id, { action: "resumed", haltShare }, changes);
    await reconcileInTransaction(tx, stamps, scope, target.id, now);
  });

/**
 * Rolls a rollout back: agents remove its installations. A rotation whose predecessor is revoked or retired cannot be rolled
 * back: its agents would have no valid certificate left.
 */
export const rollBack = (sql: Pool, stamps: Stamps, scope: Scope, target: Target) =>
  transition(sql, stamps, scope, target, sql`r.status not in ('rolling_back', 'rolled_back') and (old.id is null or old.status = 'active')`, async (tx) => {
    await recordTransition(tx, stamps, scope, target.id, { action: "rolling-back" }, tx`status = 'rolling_back', is_busy = true, reason = null`);
    await revertSteps(tx, stamps, scope, target.id);
    await settleRollback(tx, stamps, scope, target.id);
  });

/**
 * Changes a rollout under the fleet's lock. Returns `conflict` unless `may` holds, an SQL condition on the rollout `r` and the predecessor
 * `old`.
 */
export function transition(sql: Pool, stamps: Stamps, scope: Scope, { id, versions }: Target, may: Fragment, change: (tx: Sql) => Promise<void>) {
  const { organizationId } = scope;
  return withFleetLock(sql, organizationId, async (tx) => {
    const [current] = await tx<{ version: number; may: boolean }[]>`
      select r.version, ${may} as may from rollouts r left join certificates old on (old.organization_id, old.id) = (r.organization_id, r.predecessor_id)
      where r.organization_id = ${organizationId} and r.id = ${id} for update of r`;
    return updateLocked(current, versions, async (row) => {
      if (!row.may) return "conflict" as const;
      const unproven = await whyUnproven(tx, stamps, scope, id);
      if (unproven) return { inTheWay: unproven };
      await change(tx);
      return show(tx, organizationId, id);
    });
  });
}

async function show(sql: Sql, organizationId: string, id: string) {
  const shown = await findRollout(sql, organizationId, id);
  if (!shown) throw new Error("a rollout is gone, though none is ever deleted");
  return shown;
}
