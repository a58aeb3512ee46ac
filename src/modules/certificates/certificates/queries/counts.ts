import type { Fragment, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";

/** Changes that one statement takes, so that others need not wait long for the database. */
const BATCH_SIZE = 5_000;

/**
 * Adds up to `BATCH_SIZE` changes to the counts, under their lock, and returns how many. In one statement, so that readers see
 * a change once.
 */
export async function foldCertificateChanges(sql: Sql): Promise<number> {
  const [row] = await sql<{ folded: number }[]>`
    -- takes changes from the queue
    with taken as (
      delete from certificate_changes where ctid = any(array(select ctid from certificate_changes limit ${BATCH_SIZE}::int)) returning *),
    -- their sum for each kind of certificate and last day
    summed as (
      select organization_id, id_of(jsonb_build_array(issuer, key_algorithm, key_size, key_curve, signature_algorithm)::text) as kind_id,
        issuer, key_algorithm, key_size, key_curve, signature_algorithm, ends_on, sum(change)::int as change
      from taken group by 1, 2, 3, 4, 5, 6, 7, 8 having sum(change) <> 0),
    -- adds new kinds
    named as (
      insert into certificate_kinds
      select distinct organization_id, kind_id, issuer, key_algorithm, key_size, key_curve, signature_algorithm from summed on conflict do nothing),
    -- adds the sums to the counts of a day, a month, an organization and all organizations
    counted as (
      insert into certificate_counts as c
      select organization_id, 'day', ends_on, kind_id, change from summed
      union all select organization_id, 'month', date_trunc('month', ends_on::timestamp)::date, kind_id, sum(change) from summed group by 1, 3, 4
      union all select organization_id, 'all', ends_on, ${MIN_UUID}::uuid, sum(change) from summed group by 1, 3
      union all select ${MIN_UUID}::uuid, 'all', ends_on, ${MIN_UUID}::uuid, sum(change) from summed group by 3
      on conflict (organization_id, span, starts, kind_id) do update set count = c.count + excluded.count)
    select count(*)::int as folded from taken`;
  return row?.folded ?? 0;
}

/** Counts all certificates again, under the lock of the counts. One statement: what is written meanwhile stays among the changes. */
export const recountCertificates = (sql: Sql) => sql`
  with counts as (delete from certificate_counts), kinds as (delete from certificate_kinds), changes as (delete from certificate_changes)
  insert into certificate_changes
  select organization_id, utc_day(not_after), issuer, k.*, count(*) from certificates, key_of(facts) as k where status = 'active' group by 1, 2, 3, 4, 5, 6, 7`;

const DAY_MS = 86_400_000;
/** The bounds of the UTC day and month of a moment; a next one is where the one after begins. */
export function daysAround(moment: Date) {
  const [year, month] = [moment.getUTCFullYear(), moment.getUTCMonth()];
  const today = Math.floor(moment.getTime() / DAY_MS) * DAY_MS;
  const [thisMonth, nextMonth] = [Date.UTC(year, month), Date.UTC(year, month + 1)];
  return { today: isoOf(today), tomorrow: isoOf(today + DAY_MS), thisMonth: isoOf(thisMonth), nextMonth: isoOf(nextMonth) };
}

const isoOf = (milliseconds: number) => new Date(milliseconds).toISOString();

/**
 * Part of a statement: counts of active certificates by (issuer, key_algorithm, key_size, key_curve, signature_algorithm),
 * which may repeat: ending `before` a moment's UTC day, `after` it, or `ever`.
 */
export function keptCounts(sql: Sql, organizationId: string, when: "before" | "after" | "ever", moment: Date) {
  const { today, tomorrow, thisMonth, nextMonth } = daysAround(moment);
  const days = (from: string, until: string) => sql`span = 'day' and starts >= ${from}::date and starts < ${until}::date`;
  const { isCounted, isChanged } = {
    before: { isCounted: sql`(span = 'month' and starts < ${thisMonth}::date or ${days(thisMonth, today)})`, isChanged: sql`ends_on < ${today}::date` },
    after: { isCounted: sql`(span = 'month' and starts >= ${nextMonth}::date or ${days(tomorrow, nextMonth)})`, isChanged: sql`ends_on >= ${tomorrow}::date` },
    ever: { isCounted: sql`span = 'month'`, isChanged: sql`true` },
  }[when];
  return sql`
    select issuer, key_algorithm, key_size, key_curve, signature_algorithm, count
    from (select * from certificate_counts where organization_id = ${organizationId} and ${isCounted}) as c
    join certificate_kinds as k on k.organization_id = ${organizationId} and k.id = c.kind_id
    union all
    select issuer, key_algorithm, key_size, key_curve, signature_algorithm, change
    from certificate_changes where organization_id = ${organizationId} and ${isChanged}`;
}

/** As `keptCounts`, the active certificates that a condition finds, each counted `times`. */
export const certificatesWhere = (sql: Sql, organizationId: string, condition: Fragment, times = 1) => sql`
  select issuer, k.*, ${times}::int as count from certificates, key_of(facts) as k where organization_id = ${organizationId} and status = 'active' and ${condition}`;

/** Active certificates of all organizations, by how many days they have left. */
export async function countByDaysLeft(sql: Sql, now: Date) {
  const rows = await sql<{ count: number }[]>`
    select (
      (select coalesce(sum(count), 0) from certificate_counts where organization_id = ${MIN_UUID} and span = 'all' and starts < utc_day(until))
      + (select coalesce(sum(change), 0) from certificate_changes where ends_on < utc_day(until))
      + (select count(*) from certificates where status = 'active' and not_after >= utc_day(until)::timestamp at time zone 'UTC' and not_after <= until))::int as count
    from (select ${now.toISOString()}::timestamptz + make_interval(days => days) as until from unnest(array[0, 7, 30, 90]) as days
      union all select 'infinity') as bound order by until`;
  const ended = rows.map((each) => each.count);
  return ["expired", "7", "30", "90", "more"].map((bucket, index) => ({ bucket, count: (ended[index] ?? 0) - (ended[index - 1] ?? 0) }));
}

/** The moments, in milliseconds, at which the next `count` active certificates of all organizations expire. */
export async function nextExpiries(sql: Sql, now: Date, count: number) {
  const rows = await sql<{ at: number }[]>`
    select extract(epoch from not_after)::float8 * 1000 as at from certificates
    where status = 'active' and not_after > ${now.toISOString()} order by not_after limit ${count}::int`;
  return rows.map(({ at }) => at);
}
