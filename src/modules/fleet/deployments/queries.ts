import type { Fragment, Sql } from "#db/connect";
import type { PageAfter } from "#db/page";
import { hasDrift } from "#modules/fleet/assignments/queries/counts";
import { unprovenOf } from "#modules/people/roles/queries";
import { UNPROVEN_KINDS } from "#modules/people/roles/rules";
import { DEPLOYMENT_STATES, HEALTH } from "./rules";
import type { DeploymentFilter } from "./schema";

const NAMES = JSON.stringify(UNPROVEN_KINDS);
const STATES = JSON.stringify(DEPLOYMENT_STATES);

/** The agent's last report of an assignment; the expression of an index. */
const stateOf = (sql: Sql) => sql`coalesce(a.reported_state, 'pending')`;

/**
 * Lists deployments by agent and age, one more than `limit`; each filter has an index in that order. `path` is a jsonpath on
 * the agent's labels: alone it goes through the agents.
 */
export async function listDeployments(
  sql: Sql,
  organizationId: string,
  filter: DeploymentFilter,
  path: string | undefined,
  { limit, after }: PageAfter<[agentId: string, id: string]>,
) {
  const { state, store, certificateId, agentId } = filter;
  const isAsked = sql`a.organization_id = ${organizationId}
    ${agentId ? sql`and a.agent_id = ${agentId}` : sql``}
    ${certificateId ? sql`and a.certificate_id = ${certificateId}` : sql``}
    ${store ? sql`and a.trust_store_type = ${store}` : sql``}
    ${state ? sql`and ${stateOf(sql)} = ${state}` : sql``}
    ${after ? sql`and (a.agent_id, a.id) > (${after[0]}::uuid, ${after[1]}::uuid)` : sql``}`;
  const isSelected = path === undefined ? sql`` : sql`and agent.labels @@ ${path}::jsonpath`;
  const byAgent = path !== undefined && !state && !store && !certificateId;
  const rows = await sql<{ agentId: string; id: string; json: string }[]>`
    select a.agent_id as "agentId", a.id, json_build_object('assignmentId', a.id, 'agentId', a.agent_id, 'agentName', a.agent_name, 'certificateId', a.certificate_id,
      'commonName', c.common_name, 'applicationId', a.application_id, 'trustStoreType', a.trust_store_type, 'enabled', a.enabled, 'policyId', a.policy_id, 'removingSince', iso(a.removing_since),
      'version', a.version, 'state', ${stateOf(sql)}, 'isAdrift', ${hasDrift(sql)}, 'message', a.reported_message, 'reportedAt', iso(a.reported_at),
      'observedAt', iso(a.observed_at), 'updatedAt', iso(a.updated_at), 'heldSince', iso(a.held_since))::text as json
    from (${byAgent ? throughAgents(sql, organizationId, isAsked, isSelected, { limit, after }) : throughAssignments(sql, isAsked, isSelected, limit)}) as a
    join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id
    order by a.agent_id, a.id`;
  return rows.map(({ agentId, id, json }) => ({ json, key: [agentId, id] }));
}

const throughAssignments = (sql: Sql, isAsked: Fragment, isSelected: Fragment, limit: number) => sql`
  select a.*, agent.name as agent_name from assignments a
  cross join lateral (
    select name from agents agent where agent.organization_id = a.organization_id and agent.id = a.agent_id ${isSelected} offset 0) as agent
  where ${isAsked} order by a.agent_id, a.id limit ${limit + 1}`;

const throughAgents = (
  sql: Sql,
  organizationId: string,
  isAsked: Fragment,
  isSelected: Fragment,
  { limit, after }: PageAfter<[agentId: string, id: string]>,
) => sql`
  select a.*, agent.name as agent_name from agents agent
  cross join lateral (select * from assignments a where ${isAsked} and a.agent_id = agent.id offset 0) as a
  where agent.organization_id = ${organizationId} ${after ? sql`and agent.id >= ${after[0]}` : sql``} ${isSelected} order by agent.id, a.id limit ${limit + 1}`;

type Health = { lateAfterMinutes: number; silentAfterMinutes: number; now: Date };

const SHOWN = 20;

/** How long ago agents were last seen. The moments are computed here, because Postgres would compute them again for each agent. */
function healthOf(sql: Sql, { lateAfterMinutes, silentAfterMinutes, now }: Health) {
  const before = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
  const isOnline = sql`last_seen_at >= ${before(lateAfterMinutes)}::timestamptz`;
  const isSilent = sql`(last_seen_at is null or last_seen_at < ${before(silentAfterMinutes)}::timestamptz)`;
  const counts = sql`count(*)::int as total, (count(*) filter (where ${isOnline}))::int as online, (count(*) filter (where ${isSilent}))::int as silent from agents`;
  return { counts, isSilent };
}

/** Condition of the small index that holds the assignments whose agents are to remove them. */
const isRemoving = (sql: Sql) => sql`removing_since is not null`;

/** The deployments are counted from indexes alone. */
export async function summarizeFleet(sql: Sql, organizationId: string, health: Health, isTrusting: boolean) {
  const { counts, isSilent } = healthOf(sql, health);
  const [row] = await sql<{ json: string }[]>`
    with counted as materialized (
      select coalesce(reported_state, 'pending') as state, trust_store_type as store, count, adrift from (
        select reported_state, trust_store_type, count(*)::int as count, (count(*) filter (where ${hasDrift(sql)}))::int as adrift
        from assignments where organization_id = ${organizationId} group by 1, 2) as indexed),
    by_state as (
      select json_object_agg(name, coalesce(total, 0)) as json from json_array_elements_text(${STATES}::text::json) as name
      left join (select state, sum(count)::int as total from counted group by 1) as counted on state = name),
    by_store as (
      select coalesce(json_agg(json_build_object('trustStoreType', store, 'total', total, 'byState', states) order by store), '[]') as json
      from (select store, sum(count)::int as total, json_object_agg(state, count) as states from counted group by 1) as stores),
    seen as (select ${counts} where organization_id = ${organizationId}),
    quietest as (
      select id, name, last_seen_at from agents where organization_id = ${organizationId} and ${isSilent} order by last_seen_at nulls first, id limit ${SHOWN}),
    oldest as (
      select id, agent_id, updated_at from assignments where organization_id = ${organizationId} and ${hasDrift(sql)} order by updated_at, id limit 1)
    select json_build_object(
      'deployments', json_build_object('total', (select coalesce(sum(count), 0)::int from counted), 'adrift', (select coalesce(sum(adrift), 0)::int from counted),
        'removing', (select count(*)::int from assignments where organization_id = ${organizationId} and ${isRemoving(sql)}),
        'byState', (select json from by_state), 'byStore', (select json from by_store)),
      'agents', (select json_build_object('total', total, 'online', online, 'late', total - online - silent, 'silent', silent) from seen),
      'held', (select coalesce(json_object_agg(name, coalesce(count, 0)), '{}') from json_array_elements_text(${NAMES}::text::json) as name
        left join (select what, count(*)::int as count from (${unprovenOf(sql, organizationId)}) as each group by 1) as counted on what = name),
      'trustsUntil', case when ${isTrusting} then (
        select iso(max(trusts_until)) from (select trusts_until from stamping union all select trusts_until from stamping_levels) as marker) end,
      'silentAgents', (select coalesce(json_agg(json_build_object('agentId', id, 'agentName', name, 'lastSeenAt', iso(last_seen_at))
        order by last_seen_at nulls first, id), '[]') from quietest),
      'oldestDrift', (select json_build_object('assignmentId', id, 'agentId', agent_id, 'since', iso(updated_at)) from oldest))::text as json`;
  if (!row) throw new Error("a fleet was not summarized");
  return row.json;
}

/**
 * How many assignments of all organizations are in each of the states; those that are being removed are counted once more, as
 * `removing`.
 */
export const countStates = (sql: Sql) => sql<{ state: string; count: number }[]>`
  select state, coalesce(count, 0) as count from json_array_elements_text(${STATES}::text::json) as state
  left join (select coalesce(reported_state, 'pending') as name, sum(count)::int as count from (
    select organization_id, reported_state, count(*) from assignments group by 1, 2) as indexed group by 1) as counted on name = state
  union all select 'removing', count(*)::int from assignments where ${isRemoving(sql)}`;

/** How many assignments of all organizations are held. */
export async function countUnproven(sql: Sql) {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from assignments where held_since is not null`;
  return row?.count ?? 0;
}

/** How many agents of all organizations are online, late and silent. */
export const countHealth = (sql: Sql, now: Date) => sql<{ health: string; count: number }[]>`
  select health, count from (select ${healthOf(sql, { ...HEALTH, now }).counts}) as counted
  cross join lateral (values ('online', online), ('late', total - online - silent), ('silent', silent)) as each (health, count)`;
