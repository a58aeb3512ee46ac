import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Deps } from "#deps";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import { unprovenOf } from "#modules/people/roles/queries";
import { readMarkers } from "./stamping-markers";

/** Organizations of one statement, so that none is long. */
const AT_ONCE = 500;

/** Records events of unproven rows in each organization, and of an upgrade that is under way, and their ends. */
export async function watchStamping({ sql, stamps }: Pick<Deps, "sql" | "stamps">, signal: AbortSignal) {
  await recordUnproven(sql);
  const until = stamps.trusted().length > 0 ? await findEnd(sql, stamps) : undefined;
  for (let after: string | undefined = MIN_UUID; after !== undefined && !signal.aborted; ) after = await recordUpgrade(sql, after, until);
}

/** Returns until when something is trusted that has no stamp; undefined where nothing is. */
export async function findEnd(sql: Sql, stamps: Deps["stamps"]) {
  const ends = (await readMarkers(sql, stamps)).flatMap(({ marker }) => marker?.trustsUntil?.getTime() ?? []);
  return ends.length > 0 ? new Date(Math.max(...ends)).toISOString() : undefined;
}

/** Records an event of each organization with unproven rows, once, until it has none any more. */
const recordUnproven = (sql: Sql) => sql`
  with held as materialized (
    select organization_id, json_object_agg(what, count) as held from (
      select organization_id, what, count(*)::int as count from (${unprovenOf(sql)}) as each group by 1, 2) as counted group by 1),
  recorded as (${recordEvents(
    sql,
    "rows_held",
    sql`
    select organization_id, organization_id, jsonb_build_object('held', held), null::uuid, null::member_role from held where ${isNew(sql, "held", "held rows", "rows_held")}`,
  )})
  ${recordEnds(
    sql,
    "rows_held",
    sql`
    select organization_id, organization_id from alerts
    where condition = 'held rows' and state <> 'cleared' and not exists (select from held where held.organization_id = alerts.organization_id)`,
  )}`;

/** Returns the last organization of the page; undefined after the last page. */
async function recordUpgrade(sql: Sql, after: string, until: string | undefined) {
  const [page] = await sql<{ last: string | null }[]>`
    with page as materialized (
      select id as organization_id from organizations where id > ${after} order by id limit ${AT_ONCE}),
    recorded as (${recordEvents(
      sql,
      "upgrade_under_way",
      sql`
      select organization_id, organization_id, jsonb_build_object('until', ${until ?? null}::text), null::uuid, null::member_role from page
      where ${until !== undefined} and ${isNew(sql, "page", "upgrade", "upgrade_under_way")}`,
    )}),
    ended as (${recordEnds(sql, "upgrade_under_way", sql`select organization_id, organization_id from page where ${until === undefined}`)})
    select case when count(*) = ${AT_ONCE}::int then max(organization_id::text) end as last from page`;
  return page?.last ?? undefined;
}

/** SQL condition: no such state of the organization stands, and no event of it waits to be dispatched. */
const isNew = (sql: Sql, from: "held" | "page", condition: string, kind: string) => sql`
  not exists (
    select from alerts a where a.organization_id = ${sql.text(from)}.organization_id and a.condition = ${condition} and a.subject_id = ${sql.text(from)}.organization_id and a.state <> 'cleared')
  and not exists (
    select from notification_events e where e.organization_id = ${sql.text(from)}.organization_id and e.subject_id = ${sql.text(from)}.organization_id and e.kind = ${kind} and e.told_at is null)`;
