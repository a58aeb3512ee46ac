import type { Keyring } from "#crypto/keyring";
import type { Sql } from "#db/connect";
import { contextOf } from "#db/sealed-columns";
import type { Mail } from "./message";

/** The queue of the jobs that send mails. */
export const SEND_MAIL = "send-mail";
/** What a mail is about: a member's invitation. */
export type Cause = { kind: "invitation"; organizationId: string; memberId: string };
export type StoredMail = { id: string; cause: Cause; sealed: Uint8Array; queuedAt: Date; isExpired: boolean; lastFailure: string | null };

type Given = { id: string; cause: Cause; mail: Mail /** From then on it is of no use, and not sent any more. */; expiresAt: string };
type Services = { keyring: Keyring; queue: { send: (tx: Sql, name: string, id: string, data: object) => Promise<unknown> } };

const SEALED = { purpose: "mail", boundTo: ["id"] };

/**
 * Adds a mail as part of the transaction `tx`: it goes out exactly if that is committed. It is sealed, as it may hold a token. Its row is
 * there until it is sent or given up, and deleting the row withdraws it.
 */
export async function enqueueMail(tx: Sql, { keyring, queue }: Services, { id, cause, mail, expiresAt }: Given) {
  const sealed = keyring.seal(JSON.stringify(mail), contextOf(SEALED, { id })).toString("hex");
  await tx`insert into mails (id, cause, sealed_content, expires_at) values (${id}, ${JSON.stringify(cause)}::jsonb, decode(${sealed}, 'hex'), ${expiresAt})`;
  await queue.send(tx, SEND_MAIL, id, { mailId: id });
}

/** Undefined for a mail that was sent, given up or withdrawn. */
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
export async function enqueueAgain(tx: Sql, queue: Services["queue"]) {
  for (const { id } of await tx<{ id: string }[]>`select id from mails order by id`) await queue.send(tx, SEND_MAIL, id, { mailId: id });
}
