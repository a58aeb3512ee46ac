import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import type { Sql } from "./connect";

/** The name of a write: its sender, the SHA-256 of method, path and key, and that of its body, in hexadecimal. */
export type Keyed = { caller: string; keyHash: string; bodyHash: string };

/**
 * The facts of a claim that its stamp covers: its caller. The answer is sealed for the claim, so that no other caller and no
 * other key gets it.
 */
export const claimFacts = (facts: Keyed & { claimId: string }): Facts => ["idempotency-key", facts];
export const claimFactsJson = (sql: Sql) =>
  sql`json_build_object('caller', caller, 'keyHash', encode(key_hash, 'hex'), 'bodyHash', encode(body_hash, 'hex'), 'claimId', claim_id)`;

/** Of one caller, in a day. */
const MOST_KEYS = 10_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Claims a key that is new, or older than a day; false where it is known or the caller has as many as one may have. */
export async function claimKey(sql: Sql, stamps: Stamps, keyed: Keyed, claimId: string) {
  const { caller, keyHash, bodyHash } = keyed;
  const rows = await sql`
    insert into idempotency_keys as known (caller, key_hash, body_hash, claim_id, stamp)
    select ${caller}, decode(${keyHash}, 'hex'), decode(${bodyHash}, 'hex'), ${claimId}::uuid, ${stamps.of(claimFacts({ ...keyed, claimId }))}::bytea
    from (select size from idempotency_keys where caller = ${caller} and created_at > now() - interval '1 day' order by created_at desc limit ${MOST_KEYS}) as own
    having count(*) < ${MOST_KEYS} and coalesce(sum(size), 0) < ${MOST_BYTES}
    on conflict (caller, key_hash) do update set body_hash = excluded.body_hash, claim_id = excluded.claim_id, stamp = excluded.stamp, is_done = false, answer = null, size = 0,
      created_at = now(), alive_at = now()
    where known.created_at <= now() - interval '1 day' returning 1`;
  return rows.length > 0;
}

export type Known = { claimId: string; isSame: boolean; isDone: boolean; isAlive: boolean; isLost: boolean; answer: Buffer | null; isProven: boolean };

/** Returns what is known of a key. It is alive while the process that claimed it says so, and lost when that says that it has no answer. */
export async function findKey(sql: Sql, stamps: Stamps, keyed: Keyed, silence: number): Promise<Known | undefined> {
  const { caller, keyHash, bodyHash } = keyed;
  const [known] = await sql<(Known & { stamp: Stamp })[]>`
    select claim_id as "claimId", body_hash = decode(${bodyHash}, 'hex') as "isSame", is_done as "isDone", answer, stamp,
      alive_at > now() - make_interval(secs => ${silence / 1_000}) as "isAlive", alive_at = '-infinity' as "isLost"
    from idempotency_keys where caller = ${caller} and key_hash = decode(${keyHash}, 'hex')`;
  return known && { ...known, isProven: stamps.hold(known.stamp, claimFacts({ ...keyed, claimId: known.claimId })) };
}

/** Takes over the claim of a process that ended before its write was done. Waits for a write that is being committed. */
export async function takeOver(sql: Sql, stamps: Stamps, keyed: Keyed, abandonedId: string, claimId: string) {
  const rows = await sql`
    update idempotency_keys set claim_id = ${claimId}, stamp = ${stamps.of(claimFacts({ ...keyed, claimId }))}::bytea, created_at = now(), alive_at = now()
    where claim_id = ${abandonedId} and not is_done and answer is null returning 1`;
  return rows.length > 0;
}

export const keepAlive = (sql: Sql, claimId: string) => sql`update idempotency_keys set alive_at = now() where claim_id = ${claimId}`;

export const storeAnswer = (sql: Sql, claimId: string, answer: Buffer) =>
  sql`update idempotency_keys set answer = ${answer}, size = ${answer.length}, is_done = true where claim_id = ${claimId}`;

/** Deletes the claim of a request that changed nothing. The claim of a write that was done is kept and marked as without an answer. */
export const releaseClaim = (sql: Sql, claimId: string) => sql`
  with forgotten as (delete from idempotency_keys where claim_id = ${claimId} and not is_done)
  update idempotency_keys set alive_at = '-infinity' where claim_id = ${claimId} and is_done`;

export const forgetKeys = (sql: Sql) => sql`delete from idempotency_keys where created_at < now() - interval '1 day'`;
