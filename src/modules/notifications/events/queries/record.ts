import type { Fragment, Sql } from "#db/connect";
import { conditionOf, type NoticeKind } from "../rules/kinds";

/**
 * Part of a writing statement: an event for each of `rows`, which yield (organization_id, subject_id, data, user_id, role): the facts as
 * jsonb, and whom it concerns, or null. A job dispatches it.
 */
export const recordEvents = (sql: Sql, kind: NoticeKind, rows: Fragment) => sql`
  insert into notification_events (organization_id, id, kind, subject_id, data, user_id, role)
  select organization_id, new_id(), ${kind}, subject_id, data, user_id, role from (${rows}) as event (organization_id, subject_id, data, user_id, role)`;

/** As `recordEvents`, of several kinds: `rows` yield (organization_id, kind, is_end, subject_id, data, user_id, role). */
export const recordEventsOfKinds = (sql: Sql, rows: Fragment) => sql`
  insert into notification_events (organization_id, id, kind, is_end, subject_id, data, user_id, role)
  select organization_id, new_id(), kind, is_end, subject_id, data, user_id, role
  from (${rows}) as event (organization_id, kind, is_end, subject_id, data, user_id, role)`;

/**
 * Part of a writing statement: an event that the state has ended which the kind begins, for each of `rows` (organization_id, subject_id)
 * that has such a state. It clears notices and notifies no member.
 */
export const recordEnds = (sql: Sql, kind: NoticeKind, rows: Fragment) => sql`
  insert into notification_events (organization_id, id, kind, subject_id, is_end)
  select organization_id, new_id(), ${kind}, subject_id, true from (${rows}) as event (organization_id, subject_id)
  where exists (
      select from alerts a where a.organization_id = event.organization_id and a.condition = ${conditionOf(kind) ?? ""} and a.subject_id = event.subject_id and a.state <> 'cleared')
    or exists (
      select from notification_events e where e.organization_id = event.organization_id and e.subject_id = event.subject_id and e.told_at is null)`;
