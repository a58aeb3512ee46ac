import { arrayOf, type Sql } from "#db/connect";
import { listStatuses } from "#modules/governance/frameworks/queries/controls";
import { controlsOf, type FrameworkKey } from "#modules/governance/frameworks/rules/catalogue";
import { type ControlStatus, summarize } from "#modules/governance/frameworks/rules/controls";
import { type Aggregation, type Ask, type Bucket, json, type WidgetData } from "../../rules/settings";

type Progress = { frameworkKey: FrameworkKey; groupBy: "none" | "group"; countNotApplicable: boolean };

/** How far the controls of a framework are; one without a row is not started. */
export async function complianceProgress(sql: Sql, { organizationId, now }: Ask, { frameworkKey, groupBy, countNotApplicable }: Progress) {
  const touched = await listStatuses(sql, organizationId, now);
  const controls = controlsOf(frameworkKey).map(({ id, group }) => ({ group, status: touched.get(id)?.status ?? ("not_started" as const) }));
  const groups = Map.groupBy(groupBy === "group" ? controls : [], (each) => each.group);
  const progress = (of: typeof controls) =>
    progressOf(
      of.map((each) => each.status),
      countNotApplicable,
    );
  return JSON.stringify({ frameworkKey, ...progress(controls), groups: [...groups].map(([name, of]) => ({ name, ...progress(of) })) });
}

/** Controls that do not apply count as done, or not at all. */
function progressOf(statuses: ControlStatus[], countNotApplicable: boolean) {
  const { total, counts, percent } = summarize(statuses);
  if (!countNotApplicable) return { total, counts, percent };
  return { total, counts, percent: total === 0 ? 100 : Math.floor((100 * (counts.implemented + counts.not_applicable)) / total) };
}

type Trend = { frameworkKey: FrameworkKey; rangeDays: number; bucket: Bucket };

/** How many controls had each status at the end of each stretch; every change moves one control from one status to another. */
export async function statusTrend(sql: Sql, { organizationId, now }: Ask, { frameworkKey, rangeDays, bucket }: Trend) {
  const at = now.toISOString();
  const ids = controlsOf(frameworkKey).map((each) => each.id);
  const moved = (status: ControlStatus) => sql`sum(coalesce(delta, 0)) filter (where status = ${status}::control_status)`;
  const sums = (status: ControlStatus) => sql`coalesce(sum(${sql.text(status)}) over (order by n), 0)::int as ${sql.text(status)}`;
  const [row] = await sql<WidgetData[]>`
    -- the stretches of time, numbered from 1
    with stretch as (
      select row_number() over (order by start)::int as n, start at time zone 'UTC' as start,
        least((start + ('1 ' || ${bucket})::interval) at time zone 'UTC', ${at}::timestamptz) as until
      from generate_series(date_trunc(${bucket}, (${at}::timestamptz - make_interval(days => ${rangeDays})) at time zone 'UTC'),
        ${at}::timestamptz at time zone 'UTC', ('1 ' || ${bucket})::interval) as start),
    -- every change of a status, with the status before
    change as (
      select at, status, lag(status) over (partition by control_id order by version) as before from control_changes
      where organization_id = ${organizationId} and control_id = any(${arrayOf(ids)}::uuid[]) and at <= ${at}),
    -- the same as +1 for the new status and -1 for the old one
    move as (select at, status, 1 as delta from change union all select at, before, -1 from change where before is not null),
    -- the sum of each status for each stretch
    moved as (
      select greatest(1, width_bucket(at, (select array_agg(start order by n) from stretch))) as n,
        ${moved("in_progress")} as in_progress, ${moved("implemented")} as implemented, ${moved("not_applicable")} as not_applicable
      from move group by 1),
    -- the running total at the end of each stretch
    summed as (select until, ${sums("in_progress")}, ${sums("implemented")}, ${sums("not_applicable")} from stretch left join moved using (n))
    select json_build_object('frameworkKey', ${frameworkKey}::text, 'bucket', ${bucket}::text, 'points', (
      select json_agg(json_build_object('at', iso(until), 'not_started', ${ids.length}::int - in_progress - implemented - not_applicable,
        'in_progress', in_progress, 'implemented', implemented, 'not_applicable', not_applicable) order by until) from summed))::text as data`;
  return row?.data;
}

type Series = {
  systemIds: string[];
  metrics: string[];
  rangeHours: number;
  aggregation: Aggregation;
  lowerLimit?: number;
  upperLimit?: number;
};

const MAX_POINTS = 240;
const STEPS = [60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 172_800];

/** One line for each system (by id or key) and metric that has samples. */
export async function metricSeries(sql: Sql, { organizationId, now }: Ask, { systemIds, metrics, rangeHours, aggregation, ...limits }: Series) {
  const at = now.toISOString();
  const step = STEPS.find((each) => (rangeHours * 3_600) / each <= MAX_POINTS) ?? 172_800;
  const values = {
    avg: sql`avg(value::numeric)::float8`, // a sum of great values would overflow float8
    min: sql`min(value)`,
    max: sql`max(value)`,
    p95: sql`percentile_disc(0.95) within group (order by value)`,
    last: sql`(array_agg(value order by recorded_at desc))[1]`,
  };
  const [row] = await sql<WidgetData[]>`
    with system as (
      select id, key from ai_systems where organization_id = ${organizationId}
        and (key = any(array(select jsonb_array_elements_text(${json(systemIds)}::jsonb)))
          or id::text = any(array(select lower(jsonb_array_elements_text(${json(systemIds)}::jsonb)))))),
    line as (
      select id, key, metric, points from system
      cross join (select distinct jsonb_array_elements_text(${json(metrics)}::jsonb) as metric) as wanted
      cross join lateral (
        select json_agg(json_build_object('at', iso(start), 'value', value) order by start) as points from (
          select date_bin(make_interval(secs => ${step}), recorded_at, 'epoch'::timestamptz) as start, ${values[aggregation]} as value
          from metric_samples where organization_id = ${organizationId} and system_id = system.id and metric = wanted.metric
            and recorded_at > ${at}::timestamptz - make_interval(hours => ${rangeHours}) and recorded_at <= ${at} group by 1) as stretch) as drawn
      where points is not null)
    select json_build_object('from', iso(${at}::timestamptz - make_interval(hours => ${rangeHours})), 'to', iso(${at}), 'stepSeconds', ${step}::int,
      'aggregation', ${aggregation}::text, 'lowerLimit', ${limits.lowerLimit ?? null}::float8, 'upperLimit', ${limits.upperLimit ?? null}::float8,
      'series', (select coalesce(json_agg(json_build_object('systemId', id, 'system', key, 'metric', metric, 'points', points) order by key, metric), '[]')
        from line))::text as data`;
  return row?.data;
}
