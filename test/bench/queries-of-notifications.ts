import type { Pool } from "#db/connect";
import { changeAlerts } from "#modules/notifications/alerts/queries";
import {
  claimChannel,
  forgetDeliveries,
  heal,
  recordFailingChannels,
  releaseChannel,
  saveRetry,
  takeDelivery,
} from "#modules/notifications/channels/queries/channels";
import { listDeliveries, redeliver } from "#modules/notifications/channels/queries/deliveries";
import { listRoutes } from "#modules/notifications/channels/queries/routes";
import { withdrawConnection, withdrawRoute } from "#modules/notifications/channels/queries/withdraw";
import { watchCredentials } from "#modules/notifications/credentials/queries";
import { listUndispatched, refreshStates, saveNotifications, takeEvents } from "#modules/notifications/dispatch/queries/dispatch";
import { addDeliveries, findFitting, listActiveRoutes, resolveIncidents } from "#modules/notifications/dispatch/queries/fan-out";
import { deleteOldEvents, deleteOldNotifications } from "#modules/notifications/dispatch/queries/forget";
import { endSnoozes, listSnoozesEnded } from "#modules/notifications/dispatch/queries/snoozes";
import { recordEnds } from "#modules/notifications/events/queries/record";
import { kindOf } from "#modules/notifications/events/rules/kinds";
import { addExample, inboxPositions, markAllRead, markRead, noticesAfter, readInbox, withdrawNotices } from "#modules/notifications/inbox/queries";
import { closeDigests, isDigestWanted, keepForDigest, listWaiting, takeDueDigests } from "#modules/notifications/mail/queries/digests";
import { listRecipients } from "#modules/notifications/mail/queries/recipients";
import type { Room } from "#modules/platform/jobs/rules";
import type { Query } from "./queries";

const ROOM: Room = { fullOrganizations: [], fullTargets: [], of: () => 1 };

const DAY_MS = 86_400_000;
const AT_ONCE = 2_000;

/** Every query of notifications that meets tables which grow, for an organization that has all of them. */
export async function notificationQueries(sql: Pool): Promise<Query[]> {
  const [notice] = await sql<{ organizationId: string; userId: string; noticeId: string; notificationId: string; position: number }[]>`
    select organization_id as "organizationId", user_id as "userId", id as "noticeId", notification_id as "notificationId", position from notices n
    where state = 'open' and exists (
      select from notification_events e join alerts a on a.organization_id = e.organization_id and a.subject_id = e.subject_id and a.state = 'open'
      where e.organization_id = n.organization_id and e.notification_id = n.notification_id) order by id desc limit 1`;
  if (!notice) return [];
  const { organizationId, userId, noticeId, position } = notice;
  const [channel] = await sql<{ connectionId: string }[]>`select connection_id as "connectionId" from notification_channels where failures > 0 limit 1`;
  const [delivery] = await sql<{ id: string; routeId: string; connectionId: string }[]>`
    select id, route_id as "routeId", connection_id as "connectionId" from notification_deliveries where state = 'pending' order by id desc limit 1`;
  const { connectionId = "" } = channel ?? {};
  const { routeId = "", id: deliveryId = "" } = delivery ?? {};
  const subjects = (await sql<{ id: string }[]>`select subject_id as id from alerts where organization_id = ${organizationId} limit 100`).map(({ id }) => id);
  const now = new Date();
  const scope = { organizationId, actor: { type: "server" as const }, requestId: null };
  const whose = { organizationId, connectionId };
  const page = (of: Partial<{ page: number; unread: boolean }>): Query => [
    `inbox ${JSON.stringify(of)}`,
    (tx) => readInbox(tx, userId, { page: 0, limit: 20, unread: false, ...of }),
  ];
  const deliveries = (state: "pending" | "delivered" | "failed" | undefined): Query => [
    `deliveries of a route ${state ?? ""}`,
    (tx) => listDeliveries(tx, organizationId, routeId, state, { limit: 20, before: undefined }),
  ];
  return [
    page({}),
    page({ page: 200 }),
    page({ unread: true }),
    page({ unread: true, page: 100 }),
    ["inbox: unread counts, for streams", (tx) => inboxPositions(tx, [userId])],
    ["inbox: what came since, for streams", (tx) => noticesAfter(tx, [{ userId, position: position - 3 }])],
    ["inbox: mark one read", (tx) => markRead(tx, userId, [noticeId])],
    ["inbox: mark all read", (tx) => markAllRead(tx, userId)],
    ["inbox: an example", (tx) => addExample(tx, userId, { kind: "certificate_expiring", title: "", message: "" }, 5)],
    ["inbox: a member leaves (all of their notices)", async (tx) => withdrawNotices(tx, tx`select ${organizationId}::uuid, ${userId}::uuid`)],
    ["dispatch: which kinds wait", (tx) => listUndispatched(tx)],
    [`dispatch: ${AT_ONCE} events`, (tx) => takeEvents(tx, organizationId, "certificate_issued", AT_ONCE)],
    ["dispatch: save a decision, for 200 members", (tx) => dispatchSome(tx, organizationId, now)],
    ["dispatch: states of 100 subjects to their notices", (tx) => refreshStates(tx, organizationId, "certificate expiry", subjects)],
    [
      "dispatch: the end of a state",
      async (tx) =>
        recordEnds(tx, "certificate_expiring", tx`select ${organizationId}::uuid, jsonb_array_elements_text(${JSON.stringify(subjects)}::text::jsonb)::uuid`),
    ],
    ["snoozes that have ended: which organizations", (tx) => listSnoozesEnded(tx, AT_ONCE, now)],
    ["snoozes that have ended", (tx) => endSnoozes(tx, organizationId, AT_ONCE, now)],
    [
      "acknowledge",
      (tx) =>
        changeAlerts(
          tx,
          { userId, noticeId, requestId: "one" },
          { action: "notification.acknowledged", state: "acknowledged", until: null, reason: null },
          now,
        ),
    ],
    ["forget events", (tx) => deleteOldEvents(tx, now.getTime() - 90 * DAY_MS, 5_000)],
    ["forget events, of which none is old", (tx) => deleteOldEvents(tx, 0, 5_000)],
    ["forget notifications", (tx) => deleteOldNotifications(tx, now.getTime() - 90 * DAY_MS, 5_000)],
    ["the channel that is due", (tx) => claimChannel(tx, ROOM, { isFailing: false })],
    ["channels: the next delivery", (tx) => takeNext(tx)],
    ["channels: a failure", (tx) => saveRetry(tx, { ...whose, id: deliveryId, status: 500, reason: "It failed.", recipientsDone: [] }, 9)],
    ["channels: let go", (tx) => releaseChannel(tx, { ...whose, failures: 0, until: now.toISOString() }, 0)],
    ["channels: it delivers again", async (tx) => heal(tx, whose)],
    ["channels: record those that fail", async (tx) => recordFailingChannels(tx)],
    ["channels: which routes", (tx) => listActiveRoutes(tx, organizationId)],
    ["channels: labels that fit", (tx) => findFitting(tx, organizationId, '$.env == "prod"', subjects)],
    [
      "channels: queue deliveries",
      (tx) =>
        addDeliveries(tx, organizationId, [
          { id: MAX, routeId, connectionId, content: {}, incident: { key: "incident 7", condition: "certificate expiry", subjectIds: subjects } },
        ]),
    ],
    ["channels: incidents end", (tx) => resolveIncidents(tx, organizationId, "certificate expiry", subjects, {})],
    ["channels: forget deliveries", (tx) => forgetDeliveries(tx, 5_000)],
    ["routes", (tx) => listRoutes(tx, organizationId, { limit: 20, before: undefined })],
    ...([undefined, "pending", "delivered", "failed"] as const).map(deliveries),
    ["deliver once more", (tx) => redeliver(tx, scope, { routeId, id: deliveryId }, () => {})],
    ["a route is disabled (all that waits)", async (tx) => withdrawRoute(tx, organizationId, routeId, "It was disabled.")],
    ["a connection is deleted (all that waits)", (tx) => withdrawConnection(tx, { organizationId, id: connectionId, name: "" })],
    ["digests that are due", (tx) => takeDueDigests(tx, now, 20)],
    ["digests: their notices", (tx) => listWaiting(tx, [userId], 500)],
    ["digests: keep a notice", (tx) => keepForDigest(tx, [{ userId, noticeId: MAX, dueAt: now.toISOString() } as never])],
    ["digests: close (all that waited)", (tx) => closeDigests(tx, [userId], [{ userId, mailId: MAX, noticeIds: [noticeId] }])],
    ["digests: is it wanted?", (tx) => isDigestWanted(tx, MAX)],
    ["who gets mail", (tx) => listRecipients(tx, organizationId, "certificate_expiring", [{ userId, noticeId, notificationId: notice.notificationId }])],
    ["credentials that end", (tx) => watchCredentials(tx, 1_000, now)],
  ];
}

const MAX = "ffffffff-ffff-7fff-8fff-ffffffffffff";

async function takeNext(tx: Pool) {
  const [claim] = await claimChannel(tx, ROOM, { isFailing: false });
  return claim && takeDelivery(tx, claim);
}

async function dispatchSome(tx: Pool, organizationId: string, now: Date) {
  const kind = "certificate_expiring";
  const events = await takeEvents(tx, organizationId, kind, AT_ONCE);
  const ids = events.map(({ id }) => id);
  const received = {
    title: "They expire",
    message: "",
    link: "",
    data: { count: ids.length, items: [] },
    subjectId: null,
    userId: null,
    routedUserIds: [],
    routedRole: null,
  };
  const decision = { opened: events.map(({ subjectId }) => subjectId), ended: [], silent: [] } as never;
  await saveNotifications(tx, {
    organizationId,
    kind,
    now,
    of: kindOf(kind),
    decision,
    notifications: [{ ...received, id: MAX, role: "ORG_MEMBER", eventIds: ids } as never],
  });
}
