import type { Fragment, Pool, Sql } from "#db/connect";
import { lockIssuer, wakeIssuer } from "#modules/issuance/issuers/queries/due";
import { addSteps } from "#modules/issuance/issuing/queries";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { Transition } from "../rules/next";
import { type Claim, LEASE } from "./claims";

const scopeOf = ({ organizationId }: Claim): Scope => ({ organizationId, actor: { type: "server" }, requestId: null });
const isIt = (sql: Sql, { organizationId, id }: Claim) => sql`organization_id = ${organizationId} and id = ${id}`;
const isClaimed = (sql: Sql, claim: Claim) => sql`${isIt(sql, claim)} and claimed_until = ${claim.until}`;

/**
 * The subject of the states of a request: the certificate that it renews, else its names, so that a later request ends what an earlier one
 * began.
 */
const subject = (sql: Sql) => sql`coalesce(replaces, left(names_hash, 32)::uuid)`;
const firstName = (sql: Sql) => sql`names->0->>'value'`;

/**
 * Keeps what a step came to, with the step itself. Returns until when this server still has the request, where the next step is due at
 * once.
 */
export const saveTransition = (pool: Pool, claim: Claim, transition: Transition) =>
  pool.begin(async (tx) => {
    const { status, reason, progress, restMs } = transition;
    await lockIssuer(tx, claim.organizationId, claim.issuerId);
    const given = progress === undefined ? null : JSON.stringify(progress);
    const [row] = await tx<{ until: string | null }[]>`
      with before as (
        select organization_id, id, (status, reason) is distinct from (${status}::certificate_request_status, ${reason}::text) as is_news, status <> ${status} as is_move
        from certificate_requests where ${isClaimed(tx, claim)} and ended_at is null for update),
      changed as (
        update certificate_requests r set status = ${status}, reason = ${reason}, progress = coalesce(${given}::text::jsonb, r.progress), updated_at = now(),
          version = r.version + before.is_news::int, ${failures(tx, transition)}, ${dueNext(tx, transition, tx`coalesce(${given}::text::jsonb, r.progress)`)}
        from before where r.organization_id = before.organization_id and r.id = before.id returning r.*, is_news, is_move),
      stepped as (${addSteps(tx, tx`select organization_id, id, status, reason from changed where is_news`)}),
      audited as (${audit(tx, scopeOf(claim), `certificate-request.${status}`, tx`select id, jsonb_build_object('reason', reason) from changed where is_move`)}),
      recorded as (${status === "failed" ? recordFailure(tx) : tx`select`}),
      woken as (${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from changed where claimed_until is null`)})
      select iso(claimed_until) as until from changed`;
    if (!row) await releaseEnded(tx, claim, given);
    await saveIssuer(tx, claim, restMs);
    return row?.until ?? undefined;
  });

const failures = (sql: Sql, { isFailure }: Transition) =>
  isFailure ? sql`attempts = r.attempts + 1, failing_since = coalesce(r.failing_since, now())` : sql`attempts = 0, failing_since = null`;

/** Part of an update: when the next step is due, and that this server keeps the request where that is at once. */
function dueNext(sql: Sql, { status, waitMs }: Transition, progress: Fragment) {
  if (status === "failed") return sql`claimed_until = null, ${ended(sql, progress)}`;
  if (waitMs === 0) return sql`claimed_until = now() + ${LEASE}::interval, due_at = now() + ${LEASE}::interval`;
  return sql`claimed_until = null, due_at = now() + ${waitMs}::float8 * interval '1 millisecond'`;
}

/** Part of an update: the request has ended. What its proofs left behind is taken away at the next turn of the job. */
const ended = (sql: Sql, progress: Fragment) => sql`ended_at = now(), sealed_private_key = null, due_at = case when ${progress} is not null then now() end`;

const recordFailure = (sql: Sql) =>
  recordEvents(
    sql,
    "certificate_request_failed",
    sql`
      select organization_id, ${subject(sql)}, jsonb_build_object('requestId', id, 'name', ${firstName(sql)}, 'reason', reason), null::uuid, null::member_role from changed where replaces is null`,
  );

/** Lets a request go that was cancelled while this server was at work on it, with what the work has left behind. */
async function releaseEnded(tx: Sql, claim: Claim, progress: string | null) {
  await tx`
    with released as (
      update certificate_requests set claimed_until = null, progress = coalesce(${progress}::text::jsonb, progress), due_at = now()
      where ${isClaimed(tx, claim)} and ended_at is not null returning organization_id, issuer_id, due_at)
    ${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from released`)}`;
}

/** Has the issuer rest, each time longer, where it failed; else ends that. What fails at the same time counts once. */
async function saveIssuer(tx: Sql, { organizationId, issuerId, issuerFailures }: Claim, restMs: number | undefined) {
  if (restMs === undefined && issuerFailures === 0) return;
  const retryAt = restMs === undefined ? tx`null` : tx`now() + ${restMs}::float8 * interval '1 millisecond'`;
  await tx`
    update issuers i set retry_at = ${retryAt}, failures = ${restMs === undefined ? tx`0` : tx`${issuerFailures + 1}`}, due_at = (
      select greatest(r.due_at, ${retryAt}) from certificate_requests r
      where r.organization_id = i.organization_id and r.issuer_id = i.id and r.due_at is not null order by r.due_at limit 1)
    where organization_id = ${organizationId} and id = ${issuerId} and failures = ${issuerFailures}`;
}

/** Lets a request go whose next step is due at once, for another server. */
export async function releaseClaim(sql: Sql, claim: Claim): Promise<undefined> {
  await sql`update certificate_requests set claimed_until = null, due_at = now() where ${isClaimed(sql, claim)}`;
  await sql`${wakeIssuer(sql, sql`select ${claim.organizationId}::uuid, ${claim.issuerId}::uuid, now()`)}`;
}

type Key = { csr: Uint8Array; sealedPrivateKey: Buffer; stamp: Uint8Array };

/** Keeps the key that the server has made for a request. Returns false where the request has ended, or another server has it. */
export async function saveKey(sql: Sql, claim: Claim, { csr, sealedPrivateKey, stamp }: Key) {
  const rows = await sql`
    with kept as (
      update certificate_requests set csr = ${csr}::bytea, sealed_private_key = ${sealedPrivateKey}::bytea, stamp = ${stamp}::bytea
      where ${isClaimed(sql, claim)} and ended_at is null and csr is null returning *),
    stepped as (${addSteps(sql, sql`select organization_id, id, status, 'The server has made the key.' from kept`)}),
    audited as (${audit(sql, scopeOf(claim), "certificate-request.key-made", sql`select id, '{}'::jsonb from kept`)})
    select from kept`;
  return rows.length > 0;
}

/**
 * Locks an issuer and then its request (sent together, and done in order), so that what was issued is stored while the request is open;
 * false where it is not.
 */
export async function holdClaim(tx: Sql, claim: Claim) {
  const [, rows] = await Promise.all([
    lockIssuer(tx, claim.organizationId, claim.issuerId),
    tx`select from certificate_requests where ${isClaimed(tx, claim)} and ended_at is null for update`,
  ]);
  return rows.length > 0;
}

/**
 * Ends a request with the certificate that was stored for it, and why it was not given to its agent, if it was not. The request is held.
 */
export async function saveIssued(tx: Sql, claim: Claim, certificate: { id: string; notAfter: Date }, notDeployed: string | undefined) {
  const facts = tx`jsonb_build_object('requestId', id, 'certificateId', certificate_id, 'name', ${firstName(tx)}, 'notAfter', ${certificate.notAfter.toISOString()}::text)`;
  await tx`
    with changed as (
      update certificate_requests set status = 'issued', reason = ${notDeployed ?? null}, certificate_id = ${certificate.id}, attempts = 0, failing_since = null, claimed_until = null,
        version = version + 1, updated_at = now(), ${ended(tx, tx`progress`)}
      where ${isIt(tx, claim)} returning *),
    stepped as (${addSteps(tx, tx`select organization_id, id, status, reason from changed`)}),
    audited as (${audit(tx, scopeOf(claim), "certificate-request.issued", tx`select id, jsonb_build_object('certificateId', certificate_id) from changed`)}),
    recorded as (${recordEvents(tx, "certificate_issued", tx`select organization_id, ${subject(tx)}, ${facts}, null::uuid, null::member_role from changed`)}),
    ended as (${recordEnds(tx, "certificate_request_failed", tx`select organization_id, left(names_hash, 32)::uuid from changed where replaces is not null`)})
    ${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from changed`)}`;
  await saveIssuer(tx, claim, undefined);
}

/** Notes that nothing of a request that has ended is left behind or, with `waitMs`, when that is tried again. */
export async function saveCleaned(pool: Pool, claim: Claim, waitMs?: number): Promise<void> {
  const dueAt = waitMs === undefined ? pool`null` : pool`now() + ${waitMs}::float8 * interval '1 millisecond'`;
  await pool.begin(async (tx) => {
    await lockIssuer(tx, claim.organizationId, claim.issuerId);
    await tx`
      with cleaned as (
        update certificate_requests set claimed_until = null, due_at = ${dueAt}, attempts = attempts + 1,
          failing_since = ${waitMs === undefined ? tx`null` : tx`coalesce(failing_since, now())`} ${waitMs === undefined ? tx`, progress = null` : tx``}
        where ${isClaimed(tx, claim)} returning organization_id, issuer_id, due_at)
      ${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from cleaned`)}`;
  });
}
