import type { Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import { type IdentifiedResource, type Target, updateLocked } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { audit, deleteAudited, type Scope } from "#modules/people/audit/queries";
import { findFault, type Range } from "../rules";

/** How many an organization may have. */
const MOST = 200;

/** The columns that every answer shows, as json text. */
const thresholdJson = (
  sql: Sql,
) => sql`json_build_object('id', id, 'organizationId', organization_id, 'system', system, 'metric', metric, 'min', min, 'max', max,
  'isOutside', is_outside, 'judgedAt', iso(judged_at), 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

const detailsOf = (sql: Sql) => sql`jsonb_build_object('system', system, 'metric', metric, 'min', min, 'max', max)`;

/** `conflict` where the metric has a threshold already, or the organization as many as it may. */
export const createThreshold = (pool: Pool, scope: Scope, { system, metric, min, max }: Range & { system: string; metric: string }) =>
  pool.begin(async (tx) => {
    await lockOrganization(tx, scope.organizationId);
    const [row] = await tx<IdentifiedResource[]>`
      with created as (
        insert into metric_thresholds (organization_id, id, system, metric, min, max)
        select ${scope.organizationId}, new_id(), ${system}, ${metric}, ${min}::float8, ${max}::float8
        where (select count(*) from metric_thresholds where organization_id = ${scope.organizationId}) < ${MOST}
        on conflict (organization_id, system, metric) do nothing returning *),
      audited as (${audit(tx, scope, "metric-threshold.created", tx`select id, ${detailsOf(tx)} from created`)})
      select id, version, ${thresholdJson(tx)} as json from created`;
    return row ?? "conflict";
  });

/** Newest first; one more than `limit`. */
export async function listThresholds(sql: Sql, organizationId: string, { limit, before }: PageBefore) {
  const rows = await sql<IdentifiedResource[]>`
    select id, ${thresholdJson(sql)} as json from metric_thresholds
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findThreshold(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<
    IdentifiedResource[]
  >`select id, version, ${thresholdJson(sql)} as json from metric_thresholds where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

/** Changes the named ends; null removes one. The new range judges the newest sample again. */
export const updateThreshold = (pool: Pool, scope: Scope, { id, versions }: Target, patch: { [End in keyof Range]?: Range[End] }) =>
  pool.begin(async (tx) => {
    const [current] = await tx<(IdentifiedResource & Range)[]>`
      select id, version, min, max, ${thresholdJson(tx)} as json from metric_thresholds where organization_id = ${scope.organizationId} and id = ${id} for update`;
    return updateLocked(current, versions, async (stored) => {
      const next: Range = { min: stored.min, max: stored.max, ...patch };
      const fault = findFault(next);
      if (fault) return { invalid: fault };
      if (next.min === stored.min && next.max === stored.max) return stored;
      const [row] = await tx<IdentifiedResource[]>`
        with changed as (
          update metric_thresholds set min = ${next.min}::float8, max = ${next.max}::float8, judged_at = null, version = version + 1, updated_at = now()
          where organization_id = ${scope.organizationId} and id = ${id} returning *),
        audited as (${audit(tx, scope, "metric-threshold.updated", tx`select id, ${detailsOf(tx)} from changed`)})
        select id, version, ${thresholdJson(tx)} as json from changed`;
      return row ?? ("not found" as const);
    });
  });

export const deleteThreshold = (sql: Sql, scope: Scope, target: Target) =>
  deleteAudited(sql, scope, target, { table: "metric_thresholds", action: "metric-threshold.deleted", details: detailsOf(sql) });
