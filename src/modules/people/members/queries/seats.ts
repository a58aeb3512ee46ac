import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";

/** Members hold a seat, and invitations until they expire. */
export const holdsSeat = (sql: Sql) => sql`(status = 'active' or invitation_expires_at > clock_timestamp())`;

const seatsOf = (sql: Sql) => sql`
  select id, seat_limit, case when seat_limit is not null then (
    select count(*)::int from members where members.organization_id = organizations.id and ${holdsSeat(sql)}) end as taken from organizations`;

const isFree = (sql: Sql) => sql`(seat_limit is null or taken < seat_limit)`;

/** Records that the last seat is taken, or the end of that, in the transaction that changes seats, under the organization's lock. */
export async function settleSeats(tx: Sql, organizationId: string) {
  await tx`
    with seats as materialized (${seatsOf(tx)} where id = ${organizationId}),
    recorded as (${recordEvents(tx, "seat_limit_reached", tx`select id, id, jsonb_build_object('seats', seat_limit), null::uuid, null::member_role from seats where taken >= seat_limit`)})
    ${recordEnds(tx, "seat_limit_reached", tx`select id, id from seats where ${isFree(tx)}`)}`;
}

/** Organizations of one statement, so that none is long. */
const AT_ONCE = 200;

/** Ends it where an invitation has expired since. Only organizations without a free seat are judged. */
export async function watchSeats({ sql }: { sql: Sql }, signal: AbortSignal) {
  for (let after: string | null = MIN_UUID; after !== null && !signal.aborted; ) {
    const [page]: { last: string | null }[] = await sql<{ last: string | null }[]>`
      with standing as materialized (
        select organization_id from alerts where condition = 'seat limit' and state <> 'cleared' and organization_id > ${after} order by organization_id limit ${AT_ONCE}),
      ended as (${recordEnds(sql, "seat_limit_reached", sql`select id, id from (${seatsOf(sql)} where id in (select organization_id from standing)) as seats where ${isFree(sql)}`)})
      select case when count(*) = ${AT_ONCE}::int then max(organization_id::text) end as last from standing`;
    after = page?.last ?? null;
  }
}
