import type { Deps } from "#deps";
import { SEND_MAIL } from "#mail/outbox";
import { lockDispatch } from "#modules/notifications/events/queries/lock";
import { conditionOf, kindOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";
import type { NewNotification } from "#modules/notifications/events/rules/notification";
import { mailNotices } from "#modules/notifications/mail/services/mail-notices";
import { listUndispatched, refreshStates, saveNotifications, takeEvents } from "../queries/dispatch";
import { endSnoozes, listSnoozesEnded } from "../queries/snoozes";
import { compose } from "../rules/compose";
import { decide, type Event } from "../rules/decide";
import { type About, joinedBy, queueDeliveries, queueResolutions, type Routed, routeEvents } from "./fan-out";

/** Events of one transaction, and so of one notification at most. */
const AT_ONCE = 2_000;

type Services = Pick<Deps, "sql" | "clock" | "config" | "queue">;

/**
 * Dispatches every event to inboxes, mails and channels, and then the states that still stand at the end of a snooze. What a crash cuts off
 * is done by the next turn, or by another server.
 */
export async function dispatchEvents(deps: Services, signal: AbortSignal) {
  await dispatchAll(deps, signal);
  let ended = 0;
  for (const { organizationId } of await listSnoozesEnded(deps.sql, AT_ONCE, deps.clock()))
    for (let some = AT_ONCE; some === AT_ONCE && !signal.aborted; ended += some) some = await endSome(deps.sql, organizationId, deps.clock());
  if (ended > 0) await dispatchAll(deps, signal);
}

async function dispatchAll(deps: Services, signal: AbortSignal) {
  const failures: unknown[] = [];
  for (const { organizationId, kind } of await listUndispatched(deps.sql))
    while (!signal.aborted && (await dispatchSome(deps, organizationId, kind, deps.clock()).catch((error) => void failures.push(error))) === AT_ONCE);
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} notifications could not be made`);
}

/** Returns how many snoozes ended. */
const endSome = (sql: Services["sql"], organizationId: string, now: Date) =>
  sql.begin(async (tx) => {
    if (!(await lockDispatch(tx, organizationId))) return 0;
    const ended = await endSnoozes(tx, organizationId, AT_ONCE, now);
    for (const [condition, some] of Map.groupBy(ended, (each) => each.condition))
      await refreshStates(
        tx,
        organizationId,
        condition,
        some.map(({ subjectId }) => subjectId),
      );
    return ended.length;
  });

/** Returns how many events were dispatched. */
async function dispatchSome({ sql, ...services }: Services, organizationId: string, kind: NoticeKind, now: Date) {
  const { count, hasMail } = await sql.begin(async (tx) => {
    if (!(await lockDispatch(tx, organizationId))) return { count: 0, hasMail: false };
    const events = await takeEvents(tx, organizationId, kind, AT_ONCE);
    if (events.length === 0) return { count: 0, hasMail: false };
    const of = kindOf(kind);
    const decision = decide(events, of, now);
    const about = { organizationId, kind, now };
    const routed = await routeEvents(tx, about, decision.groups.flat());
    const notifications = decision.groups.map((group) => toNotification(about, group, routed));
    const addressed = await saveNotifications(tx, { ...about, of, decision, notifications });
    const hasMail = await mailNotices(tx, services, { ...about, notifications, addressed });
    await queueDeliveries(tx, about, routed);
    const condition = conditionOf(kind);
    const changed = [...decision.ended, ...decision.unsnoozed];
    if (condition && changed.length > 0) await refreshStates(tx, organizationId, condition, changed);
    if (condition && decision.ended.length > 0) await queueResolutions(tx, about, condition, decision.ended);
    return { count: events.length, hasMail };
  });
  if (hasMail) services.queue.wake(SEND_MAIL);
  return count;
}

/** Makes one notification of a group of events. */
function toNotification({ organizationId, kind, now }: About, events: Event[], routed: Routed[]): NewNotification {
  const { title, message, link, first, listed, count } = compose(organizationId, kind, events, now);
  return {
    id: Bun.randomUUIDv7(),
    title,
    message,
    data: { count, items: listed.map(({ subjectId, facts }) => ({ id: subjectId, ...facts })) },
    link,
    subjectId: count === 1 ? first.subjectId : null,
    userId: first.userId,
    role: first.role,
    ...joinedBy(routed, events),
    eventIds: events.map(({ id }) => id),
  };
}
