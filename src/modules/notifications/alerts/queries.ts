import type { Pool, Sql } from "#db/connect";
import { refreshStates } from "#modules/notifications/dispatch/queries/dispatch";
import { awaitDispatch } from "#modules/notifications/events/queries/lock";
import { conditionOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";
import { noticeJson } from "#modules/notifications/inbox/queries";
import { audit } from "#modules/people/audit/queries";

/** A decision of members on a state that stands. */
export type Change = {
  action: "notification.acknowledged" | "notification.snoozed" | "notification.reopened";
  state: "acknowledged" | "snoozed" | "open";
  until: Date | null;
  reason: string | null;
};
type Target = { userId: string; noticeId: string; requestId: string };

/**
 * Changes the states that a notice of the user stands for, of every subject that it lists, and what the notices of all members show of
 * them. A change to what a notice says already changes nothing.
 */
export const changeAlerts = (sql: Pool, target: Target, change: Change, now: Date) =>
  sql.begin(async (tx) => {
    const notice = await findNotice(tx, target);
    if (!notice) return "not found";
    const { organizationId, notificationId, kind } = notice;
    const condition = conditionOf(kind);
    if (!organizationId || !notificationId || !condition || notice.state === null) return { inTheWay: "This notice stands for no state." };
    await awaitDispatch(tx, organizationId);
    const { standing, changed } = await saveChange(tx, { ...target, organizationId, notificationId, condition }, change, now);
    if (standing === 0) return { inTheWay: "What this notice is about has ended." };
    if (changed.length > 0) await refreshStates(tx, organizationId, condition, changed);
    return { json: (await findNotice(tx, target))?.json ?? "" };
  });

type Notice = { organizationId: string | null; notificationId: string | null; kind: NoticeKind; state: string | null; json: string };

async function findNotice(tx: Sql, { userId, noticeId }: Target) {
  const [row] = await tx<Notice[]>`
    select organization_id as "organizationId", notification_id as "notificationId", kind, state,
      ${noticeJson(tx, tx`coalesce(read_at, (select read_up_to_at from inboxes where inboxes.user_id = notices.user_id and position <= read_up_to))`)}::text as json
    from notices where user_id = ${userId} and id = ${noticeId} and (organization_id is null or exists (
      select from members m where m.organization_id = notices.organization_id and m.user_id = ${userId} and m.status = 'active'))`;
  return row;
}

type Alerts = Target & { organizationId: string; notificationId: string; condition: string };

/** Returns how many subjects of the notification have a state that stands, and those for which it is another now. */
async function saveChange(
  tx: Sql,
  { organizationId, notificationId, condition, userId, requestId }: Alerts,
  { action, state, until, reason }: Change,
  now: Date,
) {
  const scope = { organizationId, actor: { type: "user" as const, id: userId }, requestId };
  const end = until?.toISOString() ?? null;
  const [row] = await tx<{ standing: number; changed: string[] }[]>`
    with listed as materialized (
      select distinct subject_id from notification_events where organization_id = ${organizationId} and notification_id = ${notificationId} order by subject_id),
    standing as materialized (
      select a.subject_id, (a.state, a.until, a.reason) is distinct from (${state}::alert_state, ${end}::timestamptz, ${reason}::text) as is_new
      from listed cross join lateral (
        select * from alerts where organization_id = ${organizationId} and condition = ${condition} and subject_id = listed.subject_id for update offset 0) as a
      where a.state <> 'cleared'),
    changed as (
      update alerts a set state = ${state}, until = ${end}, reason = ${reason}, changed_by = ${userId}, changed_at = ${now.toISOString()}
      where a.organization_id = ${organizationId} and a.condition = ${condition} and a.subject_id = any(array(select subject_id from standing where is_new))
      returning a.subject_id),
    audited as (${audit(
      tx,
      scope,
      action,
      tx`
      select ${notificationId}::uuid, jsonb_build_object('condition', ${condition}::text, 'subjects', (select count(*) from changed), 'until', ${end}::text, 'reason', ${reason}::text)
      where exists (select from changed)`,
    )})
    select (select count(*)::int from standing) as standing, coalesce((select json_agg(subject_id) from changed), '[]') as changed`;
  return row ?? { standing: 0, changed: [] };
}
