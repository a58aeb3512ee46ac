import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { recordEventsOfKinds } from "#modules/notifications/events/queries/record";

/** Thresholds of one statement, so that none is long, and samples that are read for each. */
const AT_ONCE = 200;
const SAMPLES = 1_000;

type ThresholdKey = { organizationId: string; id: string };

/** Judges the samples that came since the last turn, in the order of their own times, the newest thousand of each metric at most. */
export async function watchMetrics({ sql }: { sql: Pool }, signal: AbortSignal) {
  for (let after: ThresholdKey | undefined = { organizationId: MIN_UUID, id: MIN_UUID }; after && !signal.aborted; ) after = await judgeSome(sql, after);
}

/**
 * Judges thresholds after a place, and returns the last one's place while there are more. A new range judges the newest sample
 * alone; a breach that ended between two turns is recorded, with its end.
 */
async function judgeSome(sql: Sql, after: ThresholdKey): Promise<ThresholdKey | undefined> {
  const rows = await sql<ThresholdKey[]>`
    with part as materialized (
      select * from metric_thresholds where (organization_id, id) > (${after.organizationId}::uuid, ${after.id}::uuid) order by organization_id, id limit ${AT_ONCE}),
    -- the newest sample since the last turn, and the last one outside of the range
    judged as materialized (
      select part.*, newest_at, newest_is_outside, outside_at, outside_value
      from part
      cross join lateral (
        select id from ai_systems s where s.organization_id = part.organization_id and s.key = part.system
          and s.last_sample_at > coalesce(part.judged_at, '-infinity') offset 0) as s
      cross join lateral (
        select max(recorded_at) as newest_at, (array_agg(is_outside order by recorded_at desc))[1] as newest_is_outside,
          max(recorded_at) filter (where is_outside) as outside_at, (array_agg(value order by recorded_at desc) filter (where is_outside))[1] as outside_value
        from (
          select recorded_at, value, coalesce(value < part.min, false) or coalesce(value > part.max, false) as is_outside from metric_samples m
          where m.organization_id = part.organization_id and m.system_id = s.id and m.metric = part.metric and m.recorded_at > coalesce(part.judged_at, '-infinity')
          order by recorded_at desc limit case when part.judged_at is null then 1 else ${SAMPLES}::int end) as sample) as samples
      where newest_at is not null),
    -- unless another server was faster; each row by its key (OFFSET 0), whatever the planner knows
    kept as (
      update metric_thresholds t set judged_at = newest_at, is_outside = newest_is_outside
      from judged cross join lateral (
        select ctid as place from metric_thresholds own where own.organization_id = judged.organization_id and own.id = judged.id offset 0) as own
      where t.ctid = own.place and t.version = judged.version and t.judged_at is not distinct from judged.judged_at
      returning t.id),
    recorded as (${recordEventsOfKinds(
      sql,
      sql`
      select organization_id, 'metric_threshold', is_end, id, jsonb_strip_nulls(jsonb_build_object(
        'system', system, 'metric', metric, 'value', outside_value, 'recordedAt', iso(outside_at), 'min', min, 'max', max)), null::uuid, null::member_role
      from judged join kept using (id)
      cross join lateral (values
        (false, outside_at is not null and not is_outside), (true, not newest_is_outside and (is_outside or outside_at is not null))) as event (is_end, is_due)
      where is_due order by is_end`,
    )})
    select organization_id as "organizationId", id from part order by organization_id desc, id desc limit 1`;
  const [last] = rows;
  return last && (await isMore(sql, last)) ? last : undefined;
}

async function isMore(sql: Sql, { organizationId, id }: ThresholdKey) {
  const [row] = await sql`select from metric_thresholds where (organization_id, id) > (${organizationId}::uuid, ${id}::uuid) limit 1`;
  return row !== undefined;
}
