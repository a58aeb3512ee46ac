import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { enqueueMails, SEND_MAIL } from "#mail/outbox";
import { findPreferences } from "#modules/notifications/preferences/queries";
import { DEFAULT_PREFERENCES, DIGEST } from "#modules/notifications/preferences/rules/preferences";
import { nextHour } from "#modules/notifications/preferences/rules/time";
import { closeDigests, listWaiting, restoreDigest, takeDueDigests, type WaitingNotice } from "../queries/digests";
import { listMail } from "../rules/mails";
import { createUnsubscribeLinks } from "./unsubscribe-links";

/** Digests of one transaction, and notices that one counts. */
const AT_ONCE = 20;
const COUNTED = 500;

type Services = Pick<Deps, "sql" | "clock" | "config" | "queue">;

/**
 * Mails every digest that is due. A digest is mailed in the transaction that ends it, so once, whatever is late, repeated or runs twice.
 */
export async function mailDigests(deps: Services, signal: AbortSignal) {
  if (!deps.config.mail) return;
  while (!signal.aborted && (await mailSome(deps)) === AT_ONCE);
}

async function mailSome({ sql, clock, config, queue }: Services) {
  const { count, hasMail } = await sql.begin(async (tx) => {
    const userIds = await takeDueDigests(tx, clock(), AT_ONCE);
    if (userIds.length === 0) return { count: 0, hasMail: false };
    const waiting = Map.groupBy(await listWaiting(tx, userIds, COUNTED), ({ userId }) => userId);
    const mails = [...waiting].map(([userId, notices]) => compose(config, userId, notices));
    await enqueueMails(tx, { keyring: config.keyring, queue }, mails);
    const listed = mails.map(({ id, cause, noticeIds }) => ({ userId: cause.userId, mailId: id, noticeIds }));
    await closeDigests(tx, userIds, listed);
    return { count: userIds.length, hasMail: mails.length > 0 };
  });
  if (hasMail) queue.wake(SEND_MAIL);
  return count;
}

function compose({ keyring, publicUrl = "" }: Services["config"], userId: string, notices: WaitingNotice[]) {
  const { address = "", name = "", expiresAt = "" } = notices[0] ?? {};
  const unsubscribeUrl = createUnsubscribeLinks(keyring).urlOf(publicUrl, { userId, ended: DIGEST });
  const count = `${notices.length}${notices.length < COUNTED ? "" : " or more"} ${notices.length === 1 ? "notice" : "notices"}`;
  return {
    id: Bun.randomUUIDv7(),
    cause: { kind: "digest" as const, userId },
    mail: listMail(`Daily digest: ${count}`, notices, notices.length, { to: { name, address }, publicUrl, unsubscribeUrl }),
    expiresAt,
    noticeIds: notices.map(({ noticeId }) => noticeId),
  };
}

/** Keeps the notices of a digest that was given up for the user's next one. */
export async function postponeDigest(tx: Sql, { clock }: Pick<Services, "clock">, userId: string, mailId: string) {
  const { timeZone, digestHour } = (await findPreferences(tx, userId)) ?? DEFAULT_PREFERENCES;
  await restoreDigest(tx, userId, mailId, nextHour(clock(), timeZone, digestHour));
}
