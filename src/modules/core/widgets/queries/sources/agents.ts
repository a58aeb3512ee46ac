import type { Sql } from "#db/connect";
import { coverageOf, hasDrift } from "#modules/fleet/assignments/queries/counts";
import stores from "#modules/fleet/trust-stores/rules/catalog.json";
import { type Ask, json, type WidgetData } from "../../rules/settings";

const MAX_AGENTS = 200;
const MAX_DRIFTS = 100;
const DISPLAY_NAMES = JSON.stringify(Object.fromEntries(stores.items.map((each) => [each.trustStoreType, each.displayName])));
const CATEGORIES = JSON.stringify(Object.fromEntries(stores.items.map((each) => [each.trustStoreType, each.category])));

/** True for an agent that has each of the labels, written "key" or "key=value". */
const hasLabels = (sql: Sql, labels: string[]) =>
  labels.reduce((all, label) => {
    const [key = "", ...value] = label.split("=");
    return sql`${all} and (labels ? ${label} ${value.length > 0 ? sql`or labels->>${key} = ${value.join("=")}` : sql``})`;
  }, sql`true`);

type Health = { lateAfterMinutes: number; silentAfterMinutes: number; groupBy: "status" | "platform" | "version" | "label"; agentLabels?: string[] };

/** Online, late or silent by when each was last seen; one that never was is silent. */
export async function agentHealth(sql: Sql, { organizationId, now }: Ask, { lateAfterMinutes, silentAfterMinutes, groupBy, agentLabels = [] }: Health) {
  const at = now.toISOString();
  const groups = {
    status: sql`status`,
    platform: sql`coalesce(platform, 'unknown')`,
    version: sql`coalesce(agent_version, 'unknown')`,
    label: sql`label`,
  };
  const eachLabel = groupBy === "label" ? sql`cross join lateral (select key || '=' || value as label from jsonb_each_text(labels)) as labelled` : sql``;
  const counts = sql`'total', count(*)::int, 'online', count(*) filter (where status = 'online')::int,
    'late', count(*) filter (where status = 'late')::int, 'silent', count(*) filter (where status = 'silent')::int`;
  const [row] = await sql<WidgetData[]>`
    with seen as (
      select id, name, labels, host->>'platform' as platform, host->>'agentVersion' as agent_version, last_seen_at,
        case when last_seen_at >= ${at}::timestamptz - make_interval(mins => ${lateAfterMinutes}) then 'online'
          when last_seen_at >= ${at}::timestamptz - make_interval(mins => ${silentAfterMinutes}) then 'late' else 'silent' end as status
      from agents where organization_id = ${organizationId} and ${hasLabels(sql, agentLabels)}),
    grouped as (select ${groups[groupBy]} as name, jsonb_build_object(${counts}) as counts from seen ${eachLabel} group by 1),
    longest as (select * from seen order by last_seen_at nulls first, id limit ${MAX_AGENTS})
    select (jsonb_build_object(${counts}) || jsonb_build_object(
      'groups', (select coalesce(jsonb_agg(jsonb_build_object('name', name) || counts order by name), '[]') from grouped),
      'agents', (select coalesce(jsonb_agg(jsonb_build_object('agentId', id, 'name', name, 'status', status, 'platform', platform,
        'agentVersion', agent_version, 'lastSeenAt', iso(last_seen_at)) order by last_seen_at nulls first, id), '[]') from longest)))::text as data
    from seen`;
  return row?.data;
}

type Drift = { trustStoreTypes?: string[]; onlyEnabled: boolean; minimumAgeMinutes: number; agentLabels?: string[] };

/** Assignments whose last report is not what is wanted, once the agent has had time to act. */
export async function assignmentDrift(
  sql: Sql,
  { organizationId, now }: Ask,
  { trustStoreTypes = [], onlyEnabled, minimumAgeMinutes, agentLabels = [] }: Drift,
) {
  const isAsked = sql`organization_id = ${organizationId} and ${hasDrift(sql)} and updated_at <= ${now.toISOString()}::timestamptz - make_interval(mins => ${minimumAgeMinutes})
    ${onlyEnabled ? sql`and enabled` : sql``}
    ${agentLabels.length > 0 ? sql`and agent_id in (select id from labelled)` : sql``}
    ${trustStoreTypes.length > 0 ? sql`and trust_store_type = any(array(select jsonb_array_elements_text(${json(trustStoreTypes)}::jsonb)))` : sql``}`;
  const [row] = await sql<WidgetData[]>`
    with labelled as materialized (select id from agents where organization_id = ${organizationId} and ${hasLabels(sql, agentLabels)}),
    oldest as (select * from assignments where ${isAsked} order by updated_at, id limit ${MAX_DRIFTS}),
    judged as (
      select a.*, agents.name as agent_name, c.common_name,
        drift_reason(a.enabled, reported_state, reported_fingerprint, fingerprint_sha256, reported_at, a.updated_at) as reason
      from oldest a
      join agents on agents.organization_id = a.organization_id and agents.id = a.agent_id
      join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id)
    select json_build_object('total', (select count(*)::int from assignments where ${isAsked}),
      'items', coalesce(json_agg(json_build_object('assignmentId', id, 'agentId', agent_id,
      'agentName', agent_name, 'certificateId', certificate_id, 'commonName', common_name, 'trustStoreType', trust_store_type, 'enabled', enabled,
      'version', version, 'updatedAt', iso(updated_at), 'reason', reason, 'message', reported_message, 'reportedAt', iso(reported_at),
      'observedAt', iso(observed_at))
      order by updated_at, id), '[]'))::text as data
    from judged`;
  return row?.data;
}

type Coverage = { rows: "trustStoreType" | "category"; materialTypes?: string[]; onlyEnabled: boolean };

/** Assignments by store against the platform that their agent reported. */
export async function trustStoreCoverage(sql: Sql, { organizationId }: Ask, { rows, materialTypes = [], onlyEnabled }: Coverage) {
  const rowOf = rows === "category" ? sql`coalesce((select ${CATEGORIES}::jsonb)->>store, store)` : sql`store`;
  const [found] = await sql<WidgetData[]>`
    with held as (
      select holder, platform, agents, ${rowOf} as row, sum(times) as times from (${coverageOf(sql, organizationId)}) as held
      where true ${onlyEnabled ? sql`and is_enabled` : sql``}
        ${materialTypes.length > 0 ? sql`and material = any(array(select jsonb_array_elements_text(${json(materialTypes)}::jsonb)))` : sql``}
      group by 1, 2, 3, 4),
    cells as (select row, platform as "column", sum(agents * times)::int as assignments, sum(agents)::int as agents from held group by 1, 2)
    select json_build_object(
      'rows', (select coalesce(json_agg(json_build_object('key', row, 'displayName', coalesce(${DISPLAY_NAMES}::jsonb->>row, row)) order by row), '[]')
        from (select distinct row from cells) as row),
      'columns', (select coalesce(json_agg("column" order by "column"), '[]') from (select distinct "column" from cells) as "column"),
      'cells', (select coalesce(json_agg(json_build_object('row', row, 'column', "column", 'assignments', assignments, 'agents', agents)
        order by row, "column"), '[]') from cells))::text as data`;
  return found?.data;
}
