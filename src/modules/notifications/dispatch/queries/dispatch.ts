import { arrayOf, type Sql } from "#db/connect";
import type { KindOf } from "#modules/notifications/events/rules/kind";
import { BEGINNINGS, conditionOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";
import type { Addressed, NewNotification } from "#modules/notifications/events/rules/notification";
import type { AlertState, Decision, Event } from "../rules/decide";

/**
 * Returns the kinds of events that are to be dispatched, by organization. While all certificates of an organization are reviewed, its
 * events of expiry wait, so that they come together.
 */
export const listUndispatched = (sql: Sql) => sql<{ organizationId: string; kind: NoticeKind }[]>`
  with recursive pending as (
    (select organization_id, kind from notification_events where told_at is null order by organization_id, kind limit 1)
    union all
    select next.organization_id, next.kind from pending cross join lateral (
      select organization_id, kind from notification_events
      where told_at is null and (organization_id, kind) > (pending.organization_id, pending.kind) order by organization_id, kind limit 1) as next)
  select organization_id as "organizationId", kind from pending
  where kind <> all(${arrayOf(BEGINNINGS["certificate expiry"] ?? [])}::text[])
    or not exists (select from expiry_reviews r where r.organization_id = pending.organization_id)`;

/** Takes the oldest events of a kind that are to be dispatched, and the state of their subjects. */
export async function takeEvents(tx: Sql, organizationId: string, kind: NoticeKind, limit: number): Promise<Event[]> {
  const rows = await tx<(Omit<Event, "facts" | "until"> & { facts: string; until: string | null })[]>`
    select e.id, e.subject_id as "subjectId", e.is_end as "isEnd", e.is_reminder as "isReminder", e.user_id as "userId", e.role, e.data::text as facts, a.state, iso(a.until) as until
    from notification_events e
    left join alerts a on a.organization_id = e.organization_id and a.condition = ${conditionOf(kind) ?? null} and a.subject_id = e.subject_id
    where e.organization_id = ${organizationId} and e.kind = ${kind} and e.told_at is null order by e.id limit ${limit}`;
  return rows.map(({ facts, until, ...row }) => ({ ...row, facts: JSON.parse(facts), until: until === null ? null : new Date(until) }));
}

type Dispatch = {
  organizationId: string;
  kind: NoticeKind;
  now: Date;
  of: KindOf<Record<string, unknown>>;
  decision: Decision;
  notifications: NewNotification[];
};

/** Saves a decision: states, notifications, and a notice in the inbox of each recipient. Returns the notices. */
export async function saveNotifications(tx: Sql, { organizationId, kind, now, of, decision, notifications }: Dispatch) {
  const at = now.toISOString();
  const state: AlertState | null = of.begins ? "open" : null;
  return tx<Addressed[]>`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(notifications)}::text::jsonb)
        as n (id uuid, title text, message text, data jsonb, link text, "subjectId" uuid, "userId" uuid, role member_role, "routedUserIds" uuid[], "routedRole" member_role, "eventIds" uuid[])),
    -- states that begin, begin once more, or end
    changed as (
      insert into alerts (organization_id, condition, subject_id, state, opened_at, changed_at)
      select ${organizationId}, ${conditionOf(kind) ?? null}, subject::uuid, state, ${at}, ${at} from (
        select 'open'::alert_state as state, subject from jsonb_array_elements_text(${JSON.stringify(decision.opened)}::text::jsonb) as subject
        union all select 'cleared', subject from jsonb_array_elements_text(${JSON.stringify(decision.ended)}::text::jsonb) as subject) as states
      order by subject
      on conflict (organization_id, condition, subject_id) do update set state = excluded.state, until = null, reason = null, changed_by = null, changed_at = ${at},
        opened_at = case when excluded.state = 'open' then ${at} else alerts.opened_at end
      where alerts.state <> excluded.state),
    -- every event that was judged, and the notification that lists it
    dispatched as (
      update notification_events e set told_at = ${at}, notification_id = listed.notification_id
      from (
        select id as notification_id, unnest("eventIds") as event_id from given
        union all select null, silent::uuid from jsonb_array_elements_text(${JSON.stringify(decision.silent)}::text::jsonb) as silent) as listed
      where e.organization_id = ${organizationId} and e.id = listed.event_id),
    added as (
      insert into notifications (organization_id, id, kind, severity, title, message, data, link, subject_id, subjects, created_at)
      select ${organizationId}, id, ${kind}, ${of.severity}, title, message, data, link, "subjectId", cardinality("eventIds"), ${at} from given),
    -- whom each concerns; where that is no active member (any more), the role of the kind
    audience as (
      select given.*, coalesce(given.role, case when concerned.user_id is null then ${of.audience}::member_role end) as addressed_role
      from given left join members as concerned on concerned.organization_id = ${organizationId} and concerned.user_id = given."userId" and concerned.status = 'active'),
    addressed as materialized (
      select a.id as notification_id, a.title, a.message, a.data, a.link, m.user_id, row_number() over (partition by m.user_id order by a.id) as n, count(*) over (partition by m.user_id) as count
      from audience a join members m on m.organization_id = ${organizationId} and m.status = 'active'
        and (m.user_id = a."userId" or m.user_id = any(a."routedUserIds") or 'ORG_MEMBER' in (a.addressed_role, a."routedRole")
          or (m.role = 'ORG_ADMIN' and 'ORG_ADMIN' in (a.addressed_role, a."routedRole")))),
    -- each inbox is locked once, in the same order by every writer
    boxes as (
      insert into inboxes (user_id, total, unread) select user_id, count, count from addressed where n = 1 order by user_id
      on conflict (user_id) do update set total = inboxes.total + excluded.total, unread = inboxes.unread + excluded.unread
      returning user_id, total)
    insert into notices (user_id, position, id, organization_id, kind, title, message, data, link, notification_id, state)
    select user_id, total - count + n, new_id(), ${organizationId}, ${kind}, title, message, data, link, notification_id, ${state} from addressed join boxes using (user_id)
    returning notification_id as "notificationId", user_id as "userId", id as "noticeId"`;
}

/**
 * Brings notices to the state of the subjects that they list, under `lockDispatch`: open while any of them is. Rows are read
 * by their keys (OFFSET 0), and locked in that order.
 */
export async function refreshStates(tx: Sql, organizationId: string, condition: string, subjectIds: string[]) {
  await tx`
    with listed as (
      select distinct e.notification_id from jsonb_array_elements_text(${JSON.stringify(subjectIds)}::text::jsonb) as subject cross join lateral (
        select notification_id from notification_events
        where organization_id = ${organizationId} and subject_id = subject::uuid and notification_id is not null offset 0) as e),
    shown as materialized (
      select notification_id from listed cross join lateral (
        select from notices n where n.notification_id = listed.notification_id and n.state <> 'cleared' limit 1) as one),
    standing as (
      select shown.notification_id, min(a.state) as state
      from shown cross join lateral (
          select subject_id from notification_events where organization_id = ${organizationId} and notification_id = shown.notification_id offset 0) as e
        cross join lateral (
          select state from alerts where organization_id = ${organizationId} and condition = ${condition} and subject_id = e.subject_id offset 0) as a
      group by shown.notification_id),
    locked as materialized (
      select n.user_id, n.position, standing.state from standing join notices n on n.notification_id = standing.notification_id
      where n.state <> 'cleared' and n.state <> standing.state order by n.user_id, n.position for no key update of n)
    update notices n set state = locked.state from locked where n.user_id = locked.user_id and n.position = locked.position`;
}
