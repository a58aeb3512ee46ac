import type { Keyring } from "#crypto/keyring";
import type { Sql } from "#db/connect";
import { contextOf } from "#db/sealed-columns";
import type { Mail } from "./message";

/** The queue of the jobs that send mails. */
export const SEND_MAIL = "send-mail";
/** The cause of a mail: a member's invitation, notifications of one kind to a user, or a user's daily digest. */
export type Cause =
  | { kind: "invitation"; organizationId: string; memberId: string }
  | { kind: "notice"; organizationId: string; userId: string; noticeKind: string }
  | { kind: "digest"; userId: string };
export type StoredMail = { id: string; cause: Cause; sealed: Uint8Array; queuedAt: Date; isExpired: boolean; lastFailure: string | null };

type NewMail = {
  id: string;
  cause: Cause;
  mail: Mail;
  /** The moment from which on it is of no use, and not sent any more. */
  expiresAt: string;
};
type Queue = { sendMany: (tx: Sql, name: string, jobs: { id: string; data: object }[]) => Promise<unknown> };
type Services = { keyring: Keyring; queue: Queue };

const SEALED = { purpose: "mail", boundTo: ["id"] };
/** Mails of one statement. */
const AT_ONCE = 200;

/**
 * Adds mails in the transaction `tx`, sealed, because one may hold a token. They go out exactly if it is committed; deleting
 * the row of a mail withdraws it.
 */
export async function enqueueMails(tx: Sql, { keyring, queue }: Services, mails: NewMail[]) {
  for (let start = 0; start < mails.length; start += AT_ONCE) {
    const some = mails.slice(start, start + AT_ONCE);
    const rows = some.map(({ id, cause, mail, expiresAt }) => {
      const sealed = keyring.seal(JSON.stringify(mail), contextOf(SEALED, { id })).toString("hex");
      return { id, cause, expiresAt, sealed };
    });
    await tx`
      insert into mails (id, cause, sealed_content, expires_at)
      select id, cause, decode(sealed, 'hex'), "expiresAt" from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
        as mail (id uuid, cause jsonb, sealed text, "expiresAt" timestamptz)`;
    await enqueue(tx, queue, rows);
  }
}

/** As `enqueueMails`, for one. */
export const enqueueMail = (tx: Sql, services: Services, mail: NewMail) => enqueueMails(tx, services, [mail]);

const enqueue = (tx: Sql, queue: Queue, mails: { id: string }[]) =>
  queue.sendMany(
    tx,
    SEND_MAIL,
    mails.map(({ id }) => ({ id, data: { mailId: id } })),
  );

/** Returns undefined for a mail that was sent, given up or withdrawn. */
export async function findMail(sql: Sql, mailId: string): Promise<StoredMail | undefined> {
  const [row] = await sql<(Omit<StoredMail, "queuedAt"> & { queuedAt: string })[]>`
    select id, cause, sealed_content as sealed, iso(queued_at) as "queuedAt", expires_at < now() as "isExpired", last_failure as "lastFailure" from mails where id = ${mailId}`;
  return row && { ...row, queuedAt: new Date(row.queuedAt) };
}

export const openMail = (keyring: Keyring, { id, sealed }: StoredMail): Mail => JSON.parse(keyring.unseal(sealed, contextOf(SEALED, { id })));

/** Keeps why the last attempt failed. */
export const noteFailure = (tx: Sql, mailId: string, reason: string) => tx`update mails set last_failure = ${reason} where id = ${mailId}`;

export const removeMail = (tx: Sql, mailId: string) => tx`delete from mails where id = ${mailId}`;

/** Puts every mail into the queue again: a backup holds the mails, not the queue. */
export async function enqueueAgain(tx: Sql, queue: Queue) {
  const mails = await tx<{ id: string }[]>`select id from mails order by id`;
  for (let start = 0; start < mails.length; start += AT_ONCE) await enqueue(tx, queue, mails.slice(start, start + AT_ONCE));
}
