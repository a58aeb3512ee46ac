import type { Pool } from "#db/connect";
import type { Work } from "#jobs/queue";
import { MAILS_AT_ONCE } from "#jobs/send-mail";
import { SEND_MAIL } from "#mail/outbox";
import { TryAgain } from "#modules/platform/jobs/rules";
import { type Received, startMailServer } from "../support/server/mail-server";
import { createRandom } from "./random";

/** The kinds of which mail comes at once, as the documentation says them; of a renewal it comes in the daily digest. */
const MAILED = ["certificate_expiring", "certificate_expired", "certificate_revoked"];
/** An attempt may fail at four moments, and one in five does. */
const FAILS_AT_EACH = 1 - 0.8 ** (1 / 4);

/**
 * A mail server that fails one attempt in five: it takes neither the recipient nor the message yet, or the connection breaks in the middle of
 * the message or before the answer to it. `mailed` counts what each address received, by whole mails with a Message-ID of their own.
 */
export async function startFailingMail(seed: number) {
  const random = createRandom(seed);
  const counts = { attempts: 0, recipientsNotTaken: 0, messagesNotTaken: 0, cutOff: 0, answersLost: 0, mails: 0, doubles: 0, lists: 0 };
  const mailed = new Map<string, number>();
  const ids = new Set<string>();

  function fails(how: "recipientsNotTaken" | "messagesNotTaken" | "cutOff" | "answersLost") {
    const isFailing = random.isOnce(FAILS_AT_EACH);
    if (isFailing) counts[how]++;
    return isFailing;
  }

  const server = await startMailServer({
    recipient() {
      counts.attempts++;
      return fails("recipientsNotTaken") ? 451 : "take";
    },
    begun: () => (fails("cutOff") ? "drop" : "take"),
    whole() {
      if (fails("messagesNotTaken")) return 451;
      return fails("answersLost") ? "drop" : "take";
    },
  });

  /** Counts what came since the last time. */
  function gather() {
    for (const mail of server.received.splice(0)) {
      if (ids.has(mail.messageId)) {
        counts.doubles++;
        continue;
      }
      ids.add(mail.messageId);
      counts.mails++;
      const notices = read(mail);
      if (notices.length > 1) counts.lists++;
      for (const notice of notices) mailed.set(`${mail.to} ${notice}`, (mailed.get(`${mail.to} ${notice}`) ?? 0) + 1);
    }
  }

  return { url: server.url, counts, mailed, gather, connections: server.connections, stop: server.stop };
}

/** The notices that a mail lists: each as its link and title. */
function read({ headers, text }: Received) {
  const subject = /^Subject: (.+)$/im.exec(headers)?.[1] ?? "";
  const plain = text.replaceAll("\r\n", "\n");
  if (/^\d+ notices of /.test(subject)) return [...plain.matchAll(/^- (.+)\n {2}(\S+)$/gm)].map(([, title, link]) => `${link} ${title}`);
  return [`${/^Open in Certitude:\n(\S+)$/m.exec(plain)?.[1]} ${subject}`];
}

/** How often each address must receive what, by the inboxes of an organization. */
export async function listMailable(sql: Pool, organizationId: string, publicUrl: string) {
  const rows = await sql<{ key: string; count: number }[]>`
    select concat(u.email, ' ', ${publicUrl}::text, n.link, ' ', n.title) as key, count(*)::int as count from notices n join users u on u.id = n.user_id
    where n.organization_id = ${organizationId} and n.kind in (select jsonb_array_elements_text(${JSON.stringify(MAILED)}::text::jsonb)) group by 1`;
  return new Map(rows.map(({ key, count }) => [key, count]));
}

type Sending = Work<{ mailId: string }>;
type Fares = { sent: number; failures: number; mostAttempts: number };

/** Sends the mails of an organization that are in the queue, and those that failed again, until none is left: what the queue does in hours. */
export async function sendQueued(sql: Pool, organizationId: string, works: readonly Sending[], fares: Fares) {
  for (let attempt = 1; ; attempt++) {
    const queued = await sql<{ id: string }[]>`
      select m.id from mails m join pgboss.job j on j.name = ${SEND_MAIL} and j.id = m.id where m.cause ->> 'organizationId' = ${organizationId}`;
    if (queued.length === 0) return;
    fares.mostAttempts = Math.max(fares.mostAttempts, attempt);
    const ids = queued.map(({ id }) => id).values();
    await Promise.all(works.flatMap((work) => Array.from({ length: MAILS_AT_ONCE }, () => sendAll(work, ids, fares))));
    await sql`
      delete from pgboss.job j using jsonb_to_recordset(${JSON.stringify(queued)}::text::jsonb) as tried (id uuid)
      where j.name = ${SEND_MAIL} and j.id = tried.id and not exists (select from mails m where m.id = j.id)`;
  }
}

/** Makes an attempt at one mail after the other; `ids` is shared with others who do. */
async function sendAll(work: Sending, ids: Iterable<string>, fares: Fares) {
  for (const mailId of ids)
    try {
      await work({ mailId }, new AbortController().signal);
      fares.sent++;
    } catch (error) {
      if (!(error instanceof TryAgain)) throw error;
      fares.failures++;
    }
}

/** Mails that were neither sent nor given up. */
export async function countUnsent(sql: Pool, organizationId: string) {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from mails where cause ->> 'organizationId' = ${organizationId}`;
  return row?.count ?? 0;
}
