import type { Stamps } from "#crypto/stamps";
import { arrayOf, type Pool, type Sql } from "#db/connect";
import { withFleetLock } from "#modules/fleet/agents/queries/fleet-lock";
import { hasPlaceOf } from "#modules/fleet/assignments/queries/place";
import { standingPolicies } from "#modules/fleet/rollouts/queries/policy-stamps";
import type { Scope } from "#modules/people/audit/queries";
import { applyPolicies } from "./apply";

/** Agents that one transaction reviews: less than a second of work where each gets an assignment. */
const BATCH_SIZE = 5_000;
/** … where there are many policies, of which each may have an assignment for each agent. */
const MIN_AGENTS = 50;
/** Changes of labels among which it looks for them: an agent that changed many times is reviewed once. */
const CHANGES_AT_ONCE = 20_000;

/** The organizations whose policies have something to do. */
export const listUnsettled = (sql: Sql) => sql<{ organizationId: string }[]>`
  select organization_id as "organizationId" from relabelled_agents
  union select organization_id from assignment_policies where applied_up_to is not null order by 1`;

/**
 * Brings the agents of an organization to what its policies want, in as many transactions as that takes. Several servers may do
 * so at once.
 */
export async function reconcilePolicies(sql: Pool, stamps: Stamps, scope: Scope, signal: AbortSignal) {
  let isMore = true;
  while (isMore && !signal.aborted) isMore = await withFleetLock(sql, scope.organizationId, (tx) => reconcileBatch(tx, stamps, scope));
}

/** Returns true when there may be more. */
async function reconcileBatch(tx: Sql, stamps: Stamps, scope: Scope) {
  if (!(await hasPolicies(tx, scope))) return false;
  return (await applyToRelabelled(tx, stamps, scope)) || (await applyNext(tx, stamps, scope));
}

/** Most organizations have agents and no policy: one statement empties their queue, so that another's agents do not wait for them. */
async function hasPolicies(tx: Sql, { organizationId }: Scope) {
  const [row] = await tx<{ isAny: boolean }[]>`
    with policies as materialized (select exists (select from assignment_policies where organization_id = ${organizationId}) as is_any),
    emptied as (delete from relabelled_agents where organization_id = ${organizationId} and not (select is_any from policies))
    select is_any as "isAny" from policies`;
  return row?.isAny;
}

/** Reviews the agents that are new or have other labels. */
async function applyToRelabelled(tx: Sql, stamps: Stamps, scope: Scope) {
  const { organizationId } = scope;
  const relabelled = await tx<{ agentId: string }[]>`
    -- the changes that have waited longest, and the place of their agents in the queue
    with waiting as materialized (
      select id, dense_rank() over (order by since) as place from (
        select id, min(id) over (partition by agent_id) as since from (
          select id, agent_id from relabelled_agents where organization_id = ${organizationId} order by id limit ${CHANGES_AT_ONCE}::int) as oldest) as placed),
    taken as (
      delete from relabelled_agents where organization_id = ${organizationId} and id in (
        select id from waiting
        where place <= (select greatest(${MIN_AGENTS}::int, ${BATCH_SIZE}::int / greatest(count(*), 1)) from assignment_policies where organization_id = ${organizationId}))
      returning agent_id)
    select distinct agent_id as "agentId" from taken`;
  if (relabelled.length === 0) return false;
  await applyPolicies(tx, stamps, scope, {
    organizationId,
    agentIds: relabelled.map((each) => each.agentId),
    policyIds: await standingPolicies(tx, stamps, scope),
  });
  return true;
}

/** Goes on with the first standing policy that has not gone through all agents yet. */
async function applyNext(tx: Sql, stamps: Stamps, scope: Scope) {
  const standing = await standingPolicies(tx, stamps, scope);
  const [policy] = await tx<{ id: string }[]>`
    select id from assignment_policies where organization_id = ${scope.organizationId} and id = any(${arrayOf(standing)}::uuid[]) and applied_up_to is not null order by id limit 1`;
  if (policy) await applyFurther(tx, stamps, scope, policy.id);
  return policy !== undefined;
}

/** Applies a policy to the next agents. One that is deleted goes with the last of them. */
export async function applyFurther(tx: Sql, stamps: Stamps, scope: Scope, policyId: string) {
  const { organizationId } = scope;
  const agents = await tx<{ id: string }[]>`
    select agents.id from assignment_policies p join agents on agents.organization_id = p.organization_id and agents.id > applied_up_to
    where p.organization_id = ${organizationId} and p.id = ${policyId} order by agents.id limit ${BATCH_SIZE}`;
  await applyPolicies(tx, stamps, scope, {
    organizationId,
    agentIds: agents.map((each) => each.id),
    policyIds: await standingPolicies(tx, stamps, scope, policyId),
  });
  const last = agents.length === BATCH_SIZE ? agents.at(-1) : undefined;
  await tx`update assignment_policies set applied_up_to = ${last?.id ?? null} where organization_id = ${organizationId} and id = ${policyId}`;
  if (!last) await tx`delete from assignment_policies where organization_id = ${organizationId} and id = ${policyId} and deleted_at is not null`;
}

/** Has all policies review the agents again where the place of one has become free, by whatever way. */
export const queueFreed = (sql: Sql) => sql`
  with freed as (
    delete from policy_conflicts c where not exists (
      select from assignment_policies p
      join agents on agents.organization_id = p.organization_id and agents.id = c.agent_id
      join assignments o on o.organization_id = p.organization_id and o.agent_id = c.agent_id and o.policy_id is distinct from p.id and o.removing_since is null
      where p.organization_id = c.organization_id and p.id = c.policy_id and ${hasPlaceOf(sql, sql`o`, sql`p`)})
    returning organization_id, agent_id)
  insert into relabelled_agents (organization_id, agent_id) select distinct organization_id, agent_id from freed`;
