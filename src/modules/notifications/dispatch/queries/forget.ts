import type { Sql } from "#db/connect";
import { firstIdAt } from "#db/ids";

// The oldest are read one by one (OFFSET 0): joined, whole tables would be read each hour, also where nothing is old.

/** Deletes up to `limit` dispatched events of before `until` (milliseconds) that stand for no state. Returns how many they were. */
export async function deleteOldEvents(sql: Sql, until: number, limit: number) {
  const { count } = await sql`
    delete from notification_events where (organization_id, id) in (
      select o.id, old.id from organizations o cross join lateral (
        select id from notification_events e
        where e.organization_id = o.id and e.id < ${firstIdAt(until)} and told_at is not null and not exists (
          select from alerts a where a.organization_id = e.organization_id and a.subject_id = e.subject_id and a.state <> 'cleared' offset 0)
        order by id limit ${limit}::int) as old
      limit ${limit}::int)`;
  return count;
}

/** Deletes up to `limit` notifications of before `until` (milliseconds) that list no event. Returns how many they were. */
export async function deleteOldNotifications(sql: Sql, until: number, limit: number) {
  const { count } = await sql`
    delete from notifications where (organization_id, id) in (
      select o.id, old.id from organizations o cross join lateral (
        select id from notifications n
        where n.organization_id = o.id and n.id < ${firstIdAt(until)} and not exists (
          select from notification_events e where e.organization_id = n.organization_id and e.notification_id = n.id offset 0)
        order by id limit ${limit}::int) as old
      limit ${limit}::int)`;
  return count;
}
