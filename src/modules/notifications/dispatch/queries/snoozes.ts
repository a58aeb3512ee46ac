import type { Sql } from "#db/connect";
import { BEGINNINGS, ENDINGS } from "#modules/notifications/events/rules/kinds";

/** The states whose snooze has ended, and of which no other event is about to be dispatched. */
const dueBy = (sql: Sql, now: Date) => sql`
  alerts a
  where state = 'snoozed' and until <= ${now.toISOString()}
    -- a certificate that the watch is still to judge waits: a threshold that it has reached, or its renewal, is dispatched instead
    and not exists (
      select from expiry_watch w where w.organization_id = a.organization_id and w.certificate_id = a.subject_id and w.due_at <= ${now.toISOString()})
    -- so does a state whose end is recorded and still to be dispatched
    and not exists (
      select from notification_events e
      where e.organization_id = a.organization_id and e.subject_id = a.subject_id and e.told_at is null
        and (e.is_end or e.kind in (select jsonb_array_elements_text(${JSON.stringify(ENDINGS)}::text::jsonb -> a.condition))))`;

/** The organizations of the first `limit` snoozes that have ended. */
export const listSnoozesEnded = (sql: Sql, limit: number, now: Date) => sql<{ organizationId: string }[]>`
  select distinct organization_id as "organizationId" from (select organization_id from ${dueBy(sql, now)} order by until limit ${limit}) as due`;

/**
 * Opens the states whose snooze has ended, under `lockDispatch`, and returns them. The last event of each becomes a reminder,
 * or is recorded once more as one.
 */
export const endSnoozes = (tx: Sql, organizationId: string, limit: number, now: Date) => tx<{ condition: string; subjectId: string }[]>`
  with due as materialized (
    select organization_id, condition, subject_id from ${dueBy(tx, now)} and organization_id = ${organizationId} order by until limit ${limit} for update),
  opened as (
    update alerts a set state = 'open', until = null, reason = null, changed_by = null, changed_at = ${now.toISOString()} from due
    where a.organization_id = due.organization_id and a.condition = due.condition and a.subject_id = due.subject_id),
  -- what came last of each
  latest as materialized (
    select e.* from due cross join lateral (
      select * from notification_events e
      where e.organization_id = due.organization_id and e.subject_id = due.subject_id and not e.is_end
        and e.kind in (select jsonb_array_elements_text(${JSON.stringify(BEGINNINGS)}::text::jsonb -> due.condition))
      order by e.id desc limit 1) as e),
  repeated as (
    insert into notification_events (organization_id, id, kind, is_reminder, subject_id, data, user_id, role)
    select organization_id, new_id(), kind, true, subject_id, data, user_id, role from latest where told_at is not null),
  marked as (
    update notification_events e set is_reminder = true from latest where latest.told_at is null and e.organization_id = latest.organization_id and e.id = latest.id)
  select condition, subject_id as "subjectId" from due`;
