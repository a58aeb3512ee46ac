import type { Sql } from "#db/connect";
import type { Ask, Bucket } from "../../rules/settings";

type Row = { data: string };

/** How many end in each stretch of time, those that hold none included. */
export async function expiringTimeline(
  sql: Sql,
  { organizationId, now }: Ask,
  { horizonDays, bucket, includeExpired, issuer }: { horizonDays: number; bucket: Bucket; includeExpired: boolean; issuer?: string },
) {
  const at = now.toISOString();
  const own = sql`organization_id = ${organizationId} and status = 'active'
    ${issuer === undefined ? sql`` : sql`and position(lower(${issuer}) in lower(issuer)) > 0`}`;
  const [row] = await sql<Row[]>`
    with due as (
      select date_trunc(${bucket}, not_after at time zone 'UTC') as start, count(*)::int as count from certificates
      where ${own} and not_after > ${at} and not_after <= ${at}::timestamptz + make_interval(days => ${horizonDays}) group by 1),
    stretch as (
      select start, coalesce(count, 0) as count
      from generate_series(date_trunc(${bucket}, ${at}::timestamptz at time zone 'UTC'),
        (${at}::timestamptz + make_interval(days => ${horizonDays})) at time zone 'UTC', ('1 ' || ${bucket})::interval) as start
      left join due using (start))
    select json_build_object('bucket', ${bucket}::text,
      'expired', ${includeExpired ? sql`(select count(*)::int from certificates where ${own} and not_after <= ${at})` : sql`null::int`},
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
  const [row] = await sql<Row[]>`
    select json_build_object('items', coalesce(json_agg(json_build_object('certificateId', id, 'commonName', common_name, 'expiresAt', iso(not_after),
      'daysRemaining', days, 'severity', case when days <= ${criticalDays}::int then 'critical' when days <= ${warnDays}::int then 'warning' else 'ok' end)
      order by not_after, id), '[]'))::text as data
    from (
      select id, common_name, not_after, floor(extract(epoch from not_after - ${at}::timestamptz) / 86400)::int as days from certificates
      where organization_id = ${organizationId} and status = 'active' and not_after > ${at} and not_before <= ${at}
      order by not_after, id limit ${limit}) soonest`;
  return row?.data;
}

const validAt = (sql: Sql, { organizationId, now }: Ask, includeExpired: boolean) => sql`organization_id = ${organizationId} and status = 'active'
  and not_before <= ${now.toISOString()} ${includeExpired ? sql`` : sql`and not_after > ${now.toISOString()}`}`;

/** The biggest issuers by name, and all the others as one number. */
export async function byIssuer(sql: Sql, ask: Ask, { topN, groupOthers, includeExpired }: { topN: number; groupOthers: boolean; includeExpired: boolean }) {
  const [row] = await sql<Row[]>`
    with counted as (
      select issuer, count(*)::int as count, row_number() over (order by count(*) desc, issuer) as rank
      from certificates where ${validAt(sql, ask, includeExpired)} group by issuer)
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
      ? sql`facts->'key'->>'algorithm' as name, (facts->'key'->>'size')::int as size, facts->'key'->>'curve' as curve`
      : sql`facts->>'signatureAlgorithm' as name, null::int as size, null::text as curve`;
  const [row] = await sql<Row[]>`
    select json_build_object('total', coalesce(sum(count), 0)::int, 'algorithms', coalesce(json_agg(json_build_object('name', name, 'size', size, 'curve', curve,
      'count', count, 'isWeak', ${highlightWeak ? sql`coalesce(${isWeak}, false)` : sql`null::boolean`}) order by count desc, name, size, curve), '[]'))::text as data
    from (select ${facts}, count(*)::int as count from certificates where ${validAt(sql, ask, false)} group by 1, 2, 3) counted`;
  return row?.data;
}
