import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { enqueueMails } from "#mail/outbox";
import type { Addressed, NewNotification } from "#modules/notifications/events/queries/tell";
import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import { nextHour } from "#modules/notifications/preferences/rules/time";
import { createPause } from "#slices";
import { keepForDigest } from "../queries/digests";
import { listRecipients, type Recipient } from "../queries/recipients";
import { type Addressing, listMail, noticeMail } from "../rules/mails";
import { createUnsubscribeLinks } from "./unsubscribe-links";

/** Mails at once to one user of what is told together; more are one mail that lists them. */
const ALONE = 5;

type Services = Pick<Deps, "config" | "queue">;
/** What was told in one transaction. */
export type Telling = { organizationId: string; kind: NoticeKind; now: Date; notifications: readonly NewNotification[]; addressed: readonly Addressed[] };

/**
 * Mails what was told as part of the transaction `tx`, to those of the addressed who want mail of the kind at once, and keeps it for the digest
 * of those who want it daily. Returns whether there is something to send.
 */
export async function mailNotices(tx: Sql, { config, queue }: Services, telling: Telling) {
  if (!config.mail || telling.addressed.length === 0) return false;
  const recipients = await listRecipients(tx, telling.organizationId, telling.kind, telling.addressed);
  const daily = recipients.filter(({ frequency }) => frequency === "daily");
  if (daily.length > 0) await keepForDigest(tx, withDueAt(daily, telling.now));
  const atOnce = recipients.filter(({ frequency }) => frequency === "at_once");
  await enqueueMails(tx, { keyring: config.keyring, queue }, await compose(config, telling, atOnce));
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
async function compose({ keyring, publicUrl = "" }: Services["config"], telling: Telling, recipients: readonly Recipient[]) {
  const pause = createPause();
  const links = createUnsubscribeLinks(keyring);
  const byId = new Map(telling.notifications.map((each) => [each.id, each]));
  const mails: Parameters<typeof enqueueMails>[2] = [];
  for (const [userId, own] of Map.groupBy(recipients, (each) => each.userId)) {
    const told = own.flatMap(({ notificationId }) => byId.get(notificationId) ?? []);
    const unsubscribeUrl = links.urlOf(publicUrl, { userId, ended: telling.kind });
    const cause = { kind: "notice" as const, organizationId: telling.organizationId, userId, noticeKind: telling.kind };
    for (const { expiresAt, organization, name, address } of own.slice(0, 1))
      for (const mail of composeFor(telling, told, organization, { to: { name, address }, publicUrl, unsubscribeUrl }))
        mails.push({ id: Bun.randomUUIDv7(), cause, mail, expiresAt });
    await pause();
  }
  return mails;
}

/** Returns the mails to one recipient: one of each notification or, where these are many, one of all. */
function composeFor({ organizationId, kind, now }: Telling, told: readonly NewNotification[], organization: string, addressing: Addressing) {
  if (told.length <= ALONE)
    return told.map(({ data, ...words }) => noticeMail({ kind, ...words, ...data }, { id: organizationId, name: organization }, addressing, now));
  const lines = told.map(({ title, link }) => ({ kind, title, link, organization }));
  return [listMail(`${told.length} notices of ${organization}`, lines, told.length, addressing)];
}
