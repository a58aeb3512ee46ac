import type { Sql } from "#db/connect";
import stores from "#modules/fleet/trust-stores/rules/catalog.json";
import { type Ask, json } from "../../rules/settings";

type Row = { data: string };

const MAX_AGENTS = 200;
const MAX_DRIFTS = 100;
const DISPLAY_NAMES = JSON.stringify(Object.fromEntries(stores.items.map((each) => [each.trustStoreType, each.displayName])));
const CATEGORIES = JSON.stringify(Object.fromEntries(stores.items.map((each) => [each.trustStoreType, each.category])));

/** True for an agent that has each of the labels, written "key" or "key=value". */
const hasLabels = (sql: Sql, labels: string[]) => sql`not exists (
  select from jsonb_array_elements_text(${json(labels)}::jsonb) as wanted
  where not (agents.labels ? wanted or (position('=' in wanted) > 0
    and agents.labels->>split_part(wanted, '=', 1) = substr(wanted, position('=' in wanted) + 1)) is true))`;

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
  const [row] = await sql<Row[]>`
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
  const [row] = await sql<Row[]>`
    with judged as (
      select a.*, agents.name as agent_name, c.common_name, case
        when reported_state is null then case when a.enabled then 'never_reported' end
        when reported_state in ('failed', 'drifted') then reported_state
        when not a.enabled then case when reported_state <> 'removed' then 'not_removed' end
        when reported_state <> 'installed' then 'not_installed'
        when reported_fingerprint <> c.fingerprint_sha256 then 'other_certificate'
        when reported_at < a.updated_at then 'outdated' end as reason
      from assignments a
      join agents on agents.organization_id = a.organization_id and agents.id = a.agent_id
      join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id
      where a.organization_id = ${organizationId} and a.updated_at <= ${now.toISOString()}::timestamptz - make_interval(mins => ${minimumAgeMinutes})
        ${onlyEnabled ? sql`and a.enabled` : sql``} and ${hasLabels(sql, agentLabels)}
        ${trustStoreTypes.length > 0 ? sql`and trust_store_type = any(array(select jsonb_array_elements_text(${json(trustStoreTypes)}::jsonb)))` : sql``}),
    drifted as (select *, count(*) over () as total from judged where reason is not null order by updated_at, id limit ${MAX_DRIFTS})
    select json_build_object('total', coalesce(max(total), 0)::int, 'items', coalesce(json_agg(json_build_object('assignmentId', id, 'agentId', agent_id,
      'agentName', agent_name, 'certificateId', certificate_id, 'commonName', common_name, 'trustStoreType', trust_store_type, 'enabled', enabled,
      'version', version, 'updatedAt', iso(updated_at), 'reason', reason, 'message', reported_message, 'reportedAt', iso(reported_at))
      order by updated_at, id), '[]'))::text as data
    from drifted`;
  return row?.data;
}

type Coverage = { rows: "trustStoreType" | "category"; materialTypes?: string[]; onlyEnabled: boolean };

/** Assignments by store against the platform that their agent told of. */
export async function trustStoreCoverage(sql: Sql, { organizationId }: Ask, { rows, materialTypes = [], onlyEnabled }: Coverage) {
  const row_ = rows === "category" ? sql`coalesce(${CATEGORIES}::jsonb->>trust_store_type, trust_store_type)` : sql`trust_store_type`;
  const [found] = await sql<Row[]>`
    with cells as (
      select ${row_} as row, coalesce(host->>'platform', 'unknown') as "column", count(*)::int as assignments, count(distinct agent_id)::int as agents
      from assignments a join agents on agents.organization_id = a.organization_id and agents.id = a.agent_id
      where a.organization_id = ${organizationId} ${onlyEnabled ? sql`and enabled` : sql``}
        ${materialTypes.length > 0 ? sql`and material_type = any(array(select jsonb_array_elements_text(${json(materialTypes)}::jsonb)))` : sql``}
      group by 1, 2)
    select json_build_object(
      'rows', (select coalesce(json_agg(json_build_object('key', row, 'displayName', coalesce(${DISPLAY_NAMES}::jsonb->>row, row)) order by row), '[]')
        from (select distinct row from cells) as row),
      'columns', (select coalesce(json_agg("column" order by "column"), '[]') from (select distinct "column" from cells) as "column"),
      'cells', (select coalesce(json_agg(json_build_object('row', row, 'column', "column", 'assignments', assignments, 'agents', agents)
        order by row, "column"), '[]') from cells))::text as data`;
  return found?.data;
}
