import type { Sql } from "#db/connect";
import type { PageAfter } from "#db/page";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { Range } from "../rules/range";
import type { Batch } from "../rules/samples";

/** Adds what is new of a batch: nothing, where its webhook id came before. */
export async function storeSamples(sql: Sql, scope: Scope, batch: Batch, webhookId: string | null) {
  const accepted = (await insertNew(sql, scope, batch, webhookId)) ? batch.count : await insertMissing(sql, scope, batch, webhookId);
  return { accepted, duplicates: batch.count - accepted };
}

/** Senders whose last batch held samples that were there before: their next one most likely does too. */
const repeaters = new Set<string>();
const MOST_REPEATERS = 10_000;

/**
 * Stores a batch of a known AI system of which nothing was there before, as most are; returns false, with nothing stored, for
 * any other batch.
 */
async function insertNew(sql: Sql, scope: Scope, batch: Batch, webhookId: string | null) {
  const { organizationId } = scope;
  if (repeaters.has(`${organizationId} ${batch.system}`)) return false;
  const ingested = sql`select id, jsonb_build_object('system', ${batch.system}::text, 'accepted', ${batch.count}::int, 'duplicates', 0) from system`;
  const delivered = sql`
    -- remembers the webhook id
    delivered as (
      insert into webhook_deliveries (organization_id, webhook_id, accepted) select ${organizationId}, ${webhookId}, ${batch.count} from known returning webhook_id),`;
  try {
    // Each part reads the one before: rows are locked in the order of `insertMissing`, so that the two never wait for each other.
    const rows = await sql`
      -- the AI system, when it exists
      with known as (select id from ai_systems where organization_id = ${organizationId} and key = ${batch.system}),
      ${webhookId === null ? sql`` : delivered}
      -- the same, once the webhook id is remembered
      system as (select id from known ${webhookId === null ? sql`` : sql`, delivered`}),
      -- adds the samples
      added as (${insertion(sql, organizationId, batch)} returning 1),
      -- one row, once all are added
      counted as (select count(*) from added),
      -- updates last_sample_at of the AI system
      touched as (
        update ai_systems set last_sample_at = ${batch.newest} from known, counted
        where organization_id = ${organizationId} and ai_systems.id = known.id and last_sample_at < ${batch.newest}),
      -- the audit event
      audited as (${audit(sql, scope, "metrics.ingested", ingested, "ai-system")})
      select from system`;
    return rows.length > 0;
  } catch (error) {
    if (isRepeat(error)) return false;
    throw error;
  }
}

const insertion = (sql: Sql, organizationId: string, batch: Batch) => sql`
  insert into metric_samples (organization_id, system_id, metric, recorded_at, labels, labels_hash, value, unit)
  select ${organizationId}, system.id, metric, to_timestamp(moment / 1000000), labels, labels_hash, value, unit
  from system
  cross join unnest(${batch.indexes}::text::int[], ${batch.moments}::text::float8[], ${batch.values}::text::float8[]) as point (series, moment, value)
  join rows from (jsonb_to_recordset(${batch.series}::jsonb) as (metric text, unit text, labels jsonb, labels_hash bigint)) with ordinality
    as described (metric, unit, labels, labels_hash, series) using (series)
  order by series, moment`;

const isRepeat = (error: unknown) => error instanceof Error && "code" in error && error.code === "23505";

/**
 * Stores what is new of a batch, makes its AI system where it is new, and returns how many samples were; takes half as long
 * again as `insertNew`.
 */
async function insertMissing(sql: Sql, scope: Scope, batch: Batch, webhookId: string | null) {
  const { organizationId } = scope;
  const ingested = sql`
      select id, jsonb_build_object('system', ${batch.system}::text, 'accepted', accepted, 'duplicates', ${batch.count}::int - accepted)
      from system, counted where accepted > 0`;
  const [row] = await sql<{ accepted: number }[]>`
    -- remembers the webhook id; no row when it is known already
    with delivered as (
      insert into webhook_deliveries (organization_id, webhook_id, accepted)
      select ${organizationId}, ${webhookId}, ${batch.count} where ${webhookId}::text is not null on conflict do nothing returning webhook_id),
    -- one row when the batch is to be stored, else none
    taken as (select where ${webhookId}::text is null or exists (select from delivered)),
    -- the AI system, when it exists
    known as (select id from ai_systems where organization_id = ${organizationId} and key = ${batch.system}),
    -- adds the AI system, when it does not exist
    created as (
      insert into ai_systems (organization_id, id, key, last_sample_at)
      select ${organizationId}, ${Bun.randomUUIDv7()}, ${batch.system}, ${batch.newest} from taken where not exists (select from known)
      on conflict (organization_id, key) do update set last_sample_at = greatest(ai_systems.last_sample_at, excluded.last_sample_at) returning id),
    -- the AI system, known or new, when the batch is to be stored
    system as (select id from known, taken union all select id from created),
    -- adds the samples; one row for each that was new
    added as (${insertion(sql, organizationId, batch)} on conflict do nothing returning 1),
    -- how many samples were new
    counted as (select count(*)::int as accepted from added),
    -- updates last_sample_at of a known AI system
    touched as (
      update ai_systems set last_sample_at = ${batch.newest} from known, counted
      where organization_id = ${organizationId} and ai_systems.id = known.id and accepted > 0 and last_sample_at < ${batch.newest}),
    -- the audit event, when at least one sample was new
    audited as (${audit(sql, scope, "metrics.ingested", ingested, "ai-system")})
    select accepted from counted`;
  const accepted = row?.accepted ?? 0;
  noteRepeats(`${organizationId} ${batch.system}`, accepted < batch.count);
  return accepted;
}

/** A sender that repeats would have Postgres store, undo and log each of its batches. */
function noteRepeats(sender: string, repeats: boolean) {
  if (!repeats) repeaters.delete(sender);
  else if (repeaters.size < MOST_REPEATERS) repeaters.add(sender);
}

/** By key; one more than `limit`. */
export async function listAiSystems(sql: Sql, organizationId: string, { limit, after }: PageAfter) {
  const rows = await sql<{ key: string; json: string }[]>`
    select key, json_build_object('id', id, 'key', key, 'createdAt', iso(created_at), 'lastSampleAt', iso(last_sample_at))::text as json
    from ai_systems where organization_id = ${organizationId} and key > ${after ?? ""} order by key limit ${limit + 1}`;
  return rows.map(({ key, json }) => ({ json, key: [key] }));
}

/** Values from here on would overflow the squares that avg() sums up. */
const OVERFLOW_GUARD = 1e140;
const SCALE = 2 ** 64;
const MOST = Number.MAX_VALUE / SCALE;

/** A mean that is right, and never an error, for any finite values: huge ones are added up on a smaller scale. */
const mean = (sql: Sql) => sql`
  case when greatest(max(value), -min(value)) < ${OVERFLOW_GUARD}::float8 then avg(value) filter (where abs(value) < ${OVERFLOW_GUARD}::float8)
    else least(greatest(sum(value / ${SCALE}::float8) filter (where abs(value) >= 1) / count(*), -${MOST}::float8), ${MOST}::float8) * ${SCALE}::float8 end`;

/** A metric in steps, as the JSON of the whole answer; undefined when there is no such system. */
export async function summarizeMetric(sql: Sql, organizationId: string, { system, metric }: { system: string; metric: string }, { from, to, step }: Range) {
  const [row] = await sql<{ answer: string }[]>`
    select json_build_object('system', key, 'metric', ${metric}::text, 'unit', unit, 'from', iso(${from}), 'to', iso(${to}), 'step', ${step}::int, 'items', items)::text as answer
    from ai_systems cross join lateral (
      select case when min(first_unit) = max(last_unit) then min(first_unit) end as unit,
        coalesce(json_agg(json_build_object('at', iso(at), 'min', least_value, 'max', greatest_value, 'mean', mean, 'count', count) order by at), '[]') as items
      from (
        select date_bin(make_interval(secs => ${step}), recorded_at, ${from}) as at, min(value) as least_value, max(value) as greatest_value,
          ${mean(sql)} as mean, count(*) as count, min(unit) as first_unit, max(unit) as last_unit
        from metric_samples
        where organization_id = ${organizationId} and system_id = ai_systems.id and metric = ${metric} and recorded_at >= ${from} and recorded_at < ${to}
        group by 1) steps) summary
    where organization_id = ${organizationId} and key = ${system}`;
  return row?.answer;
}

/** Forgets deliveries that no sender tries again. */
export async function forgetDeliveries(sql: Sql, before: Date) {
  await sql`delete from webhook_deliveries where received_at < ${before.toISOString()}`;
}
