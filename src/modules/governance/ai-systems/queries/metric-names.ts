import type { Fragment, Sql } from "#db/connect";
import type { PageAfter } from "#db/page";

/** Returns metrics of a system by name, with their latest sample, one more than `limit`; undefined when there is no such system. */
export async function listMetrics(sql: Sql, organizationId: string, system: string, { limit, after }: PageAfter) {
  // Each name is one probe of the primary key for the next greater one, however many samples there are.
  const next = (beyond: Fragment) => sql`
    select metric from metric_samples where organization_id = ${organizationId} and system_id = system.id and metric > ${beyond} order by metric limit 1`;
  const rows = await sql<{ metric: string | null; json: string }[]>`
    with recursive system as (select id from ai_systems where organization_id = ${organizationId} and key = ${system}),
    names as (
      select (${next(sql`${after ?? ""}`)}) as metric from system
      union all
      select (${next(sql`names.metric`)}) from names cross join system where names.metric is not null)
    select named.metric, json_build_object('metric', named.metric, 'unit', unit, 'lastSampleAt', iso(recorded_at))::text as json
    from system left join lateral (select metric from names where metric is not null limit ${limit + 1}) as named on true
    left join lateral (
      select unit, recorded_at from metric_samples
      where organization_id = ${organizationId} and system_id = system.id and metric_samples.metric = named.metric order by recorded_at desc limit 1) as latest on true
    order by named.metric`;
  if (rows.length === 0) return;
  return rows.flatMap(({ metric, json }) => (metric === null ? [] : [{ json, key: [metric] }]));
}
