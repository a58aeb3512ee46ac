import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { enqueueMails } from "#mail/outbox";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import type { Addressed, NewNotification } from "#modules/notifications/events/rules/notification";
import { nextHour } from "#modules/notifications/preferences/rules/time";
import { createPause } from "#runtime/slices";
import { keepForDigest } from "../queries/digests";
import { listRecipients, type Recipient } from "../queries/recipients";
import { type Addressing, listMail, noticeMail } from "../rules/mails";
import { createUnsubscribeLinks } from "./unsubscribe-links";

/** Mails at once to one user of notifications of one transaction; more are one mail that lists them. */
const ALONE = 5;

type Services = Pick<Deps, "config" | "queue">;
/** Notifications of one transaction, and the notices that they became. */
export type Dispatched = { organizationId: string; kind: NoticeKind; now: Date; notifications: readonly NewNotification[]; addressed: readonly Addressed[] };

/**
 * Queues mails of notifications, in their transaction, for those of the addressed who want them at once, and keeps the others' notices for
 * digests. Returns whether there are mails to send.
 */
export async function mailNotices(tx: Sql, { config, queue }: Services, dispatched: Dispatched) {
  if (!config.mail || dispatched.addressed.length === 0) return false;
  const recipients = await listRecipients(tx, dispatched.organizationId, dispatched.kind, dispatched.addressed);
  const daily = recipients.filter(({ frequency }) => frequency === "daily");
  if (daily.length > 0) await keepForDigest(tx, withDueAt(daily, dispatched.now));
  const atOnce = recipients.filter(({ frequency }) => frequency === "at_once");
  await enqueueMails(tx, { keyring: config.keyring, queue }, await compose(config, dispatched, atOnce));
  return atOnce.length > 0;
}

function withDueAt(recipients: readonly Recipient[], now: Date) {
  const known = new Map<string, Date>();
  return recipients.map(({ userId, noticeId, timeZone, digestHour }) => {
    const when = `${timeZone} ${digestHour}`;
    const dueAt = known.get(when) ?? nextHour(now, timeZone, digestHour);
    known.set(when, dueAt);
    return { userId, noticeId, dueAt };
  });
}

/** Returns the mails to all recipients. */
async function compose({ keyring, publicUrl = "" }: Services["config"], dispatched: Dispatched, recipients: readonly Recipient[]) {
  const pause = createPause();
  const links = createUnsubscribeLinks(keyring);
  const byId = new Map(dispatched.notifications.map((each) => [each.id, each]));
  const mails: Parameters<typeof enqueueMails>[2] = [];
  for (const [userId, own] of Map.groupBy(recipients, (each) => each.userId)) {
    const notifications = own.flatMap(({ notificationId }) => byId.get(notificationId) ?? []);
    const unsubscribeUrl = links.urlOf(publicUrl, { userId, ended: dispatched.kind });
    const cause = { kind: "notice" as const, organizationId: dispatched.organizationId, userId, noticeKind: dispatched.kind };
    for (const { expiresAt, organization, name, address } of own.slice(0, 1))
      for (const mail of composeFor(dispatched, notifications, organization, { to: { name, address }, publicUrl, unsubscribeUrl }))
        mails.push({ id: Bun.randomUUIDv7(), cause, mail, expiresAt });
    await pause();
  }
  return mails;
}

/** Returns the mails to one recipient: one of each notification or, where these are many, one of all. */
function composeFor({ organizationId, kind, now }: Dispatched, notifications: readonly NewNotification[], organization: string, addressing: Addressing) {
  if (notifications.length <= ALONE)
    return notifications.map(({ data, ...words }) => noticeMail({ kind, ...words, ...data }, { id: organizationId, name: organization }, addressing, now));
  const lines = notifications.map(({ title, link }) => ({ kind, title, link, organization }));
  return [listMail(`${notifications.length} notices of ${organization}`, lines, notifications.length, addressing)];
}
