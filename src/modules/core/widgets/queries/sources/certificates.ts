import type { Sql } from "#db/connect";
import { certificatesWhere, daysAround, keptCounts } from "#modules/certificates/certificates/queries/counts";
import type { Ask, Bucket, WidgetData } from "../../rules/settings";

/**
 * How many certificates end in each stretch of time, empty ones included. Whole days are read from the counts; only the parts of the first
 * and last day are read from the certificates.
 */
export async function expiringTimeline(
  sql: Sql,
  { organizationId, now }: Ask,
  { horizonDays, bucket, includeExpired, issuer }: { horizonDays: number; bucket: Bucket; includeExpired: boolean; issuer?: string },
) {
  const at = now.toISOString();
  const until = new Date(now.getTime() + horizonDays * 86_400_000);
  const [first, last] = [daysAround(now), daysAround(until)];
  const isWanted = issuer === undefined ? sql`` : sql`and position(lower(${issuer}) in lower(issuer)) > 0`;
  const own = sql`organization_id = ${organizationId} and status = 'active' ${isWanted}`;
  const ofDays =
    issuer === undefined
      ? sql`span = 'all'`
      : sql`span = 'day' and kind_id in (select id from certificate_kinds where organization_id = ${organizationId} ${isWanted})`;
  const expired = sql`(
    select coalesce(sum(count), 0)::int from (
      select count from (${keptCounts(sql, organizationId, "before", now)}) as kept where true ${isWanted}
      union all select count(*) from certificates where ${own} and not_after >= ${first.today} and not_after <= ${at}) as ended)`;
  const [row] = await sql<WidgetData[]>`
    with due as (
      select date_trunc(${bucket}, day::timestamp) as start, sum(count)::int as count from (
        select starts as day, count from certificate_counts
        where organization_id = ${organizationId} and ${ofDays} and starts >= ${first.tomorrow}::date and starts < ${last.today}::date
        union all
        select ends_on, change from certificate_changes
        where organization_id = ${organizationId} and ends_on >= ${first.tomorrow}::date and ends_on < ${last.today}::date ${isWanted}
        union all
        select ${first.today}::date, count(*) from certificates where ${own} and not_after > ${at} and not_after < ${first.tomorrow}
        union all
        select ${last.today}::date, count(*) from certificates where ${own} and not_after >= ${last.today} and not_after <= ${until.toISOString()}) as counted
      group by 1),
    stretch as (
      select start, coalesce(count, 0) as count
      from generate_series(date_trunc(${bucket}, ${at}::timestamptz at time zone 'UTC'), ${until.toISOString()}::timestamptz at time zone 'UTC',
        ('1 ' || ${bucket})::interval) as start
      left join due using (start))
    select json_build_object('bucket', ${bucket}::text, 'expired', ${includeExpired ? expired : sql`null::int`},
      'buckets', (select json_agg(json_build_object('start', iso(start at time zone 'UTC'), 'count', count) order by start) from stretch))::text as data`;
  return row?.data;
}

/** The soonest to end first, each with how urgent it is. */
export async function topExpiring(
  sql: Sql,
  { organizationId, now }: Ask,
  { limit, warnDays, criticalDays }: { limit: number; warnDays: number; criticalDays: number },
) {
  const at = now.toISOString();
  const [row] = await sql<WidgetData[]>`
    select json_build_object('items', coalesce(json_agg(json_build_object('certificateId', id, 'commonName', common_name, 'expiresAt', iso(not_after),
      'daysRemaining', days, 'severity', case when days <= ${criticalDays}::int then 'critical' when days <= ${warnDays}::int then 'warning' else 'ok' end)
      order by not_after, id), '[]'))::text as data
    from (
      select id, common_name, not_after, floor(extract(epoch from not_after - ${at}::timestamptz) / 86400)::int as days from certificates
      where organization_id = ${organizationId} and status = 'active' and not_after > ${at} and not_before <= ${at}
      order by not_after, id limit ${limit}) soonest`;
  return row?.data;
}

/** As `keptCounts`: the certificates that are valid now, or were once. */
const validCounts = (sql: Sql, { organizationId, now }: Ask, includeExpired: boolean) => {
  const at = now.toISOString();
  const isLater = sql`not_before > ${at}`;
  if (includeExpired) return sql`${keptCounts(sql, organizationId, "ever", now)} union all ${certificatesWhere(sql, organizationId, isLater, -1)}`;
  return sql`
    ${keptCounts(sql, organizationId, "after", now)}
    union all ${certificatesWhere(sql, organizationId, sql`not_after > ${at} and not_after < ${daysAround(now).tomorrow}`)}
    union all ${certificatesWhere(sql, organizationId, sql`${isLater} and not_after > ${at}`, -1)}`;
};

/** The biggest issuers by name, and all the others as one number. */
export async function byIssuer(sql: Sql, ask: Ask, { topN, groupOthers, includeExpired }: { topN: number; groupOthers: boolean; includeExpired: boolean }) {
  const [row] = await sql<WidgetData[]>`
    with counted as (
      select issuer, sum(count) as count, row_number() over (order by sum(count) desc, issuer) as rank
      from (${validCounts(sql, ask, includeExpired)}) as valid group by issuer having sum(count) > 0)
    select json_build_object('total', coalesce(sum(count), 0)::int,
      'issuers', coalesce(json_agg(json_build_object('issuer', issuer, 'count', count) order by rank) filter (where rank <= ${topN}), '[]'),
      'others', ${groupOthers ? sql`coalesce(sum(count) filter (where rank > ${topN}), 0)::int` : sql`null::int`})::text as data
    from counted`;
  return row?.data;
}

/** By key, or by signature algorithm; weak is what the settings or the state of the art call too short or broken. */
export async function keyAlgorithms(
  sql: Sql,
  ask: Ask,
  { dimension, minimumRsaBits, highlightWeak }: { dimension: "key" | "signature"; minimumRsaBits: number; highlightWeak: boolean },
) {
  const isWeak =
    dimension === "key"
      ? sql`name = 'DSA' or (name like 'RSA%' and size < ${minimumRsaBits}::int) or (name = 'EC' and size < 224)`
      : sql`name ~* 'md[245]|sha-?1($|[^0-9])'`;
  const facts =
    dimension === "key"
      ? sql`key_algorithm as name, key_size as size, key_curve as curve`
      : sql`signature_algorithm as name, null::int as size, null::text as curve`;
  const [row] = await sql<WidgetData[]>`
    select json_build_object('total', coalesce(sum(count), 0)::int, 'algorithms', coalesce(json_agg(json_build_object('name', name, 'size', size, 'curve', curve,
      'count', count, 'isWeak', ${highlightWeak ? sql`coalesce(${isWeak}, false)` : sql`null::boolean`}) order by count desc, name, size, curve), '[]'))::text as data
    from (select ${facts}, sum(count)::int as count from (${validCounts(sql, ask, false)}) as valid group by 1, 2, 3 having sum(count) > 0) as counted`;
  return row?.data;
}
