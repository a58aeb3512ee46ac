import type { Pool, Sql } from "#db/connect";
import { foldCertificateChanges, recountCertificates } from "#modules/certificates/certificates/queries/counts";
import { foldCoverageChanges, recountCoverage, recountDrifts } from "#modules/fleet/assignments/queries/counts";
import { recountReads } from "#modules/notifications/inbox/queries";
import { addPlatformEvent } from "#modules/people/audit/queries";

/** Hears of progress, a sentence at a time. */
type Report = (line: string) => void;

/** The advisory lock of the transaction that adds changes to the counts, or counts again. */
const LOCK = 4_711_002;
/** Less than the second after which Postgres looks for a deadlock and may end a request. */
const LOCK_TIMEOUT_MS = 500;
const MAX_TRIES = 120;
/** lock_not_available, deadlock_detected. */
const IS_LOCKED = /^(55P03|40P01)$/;
const BY = { actor: { type: "command-line" as const }, requestId: null };

/**
 * Adds to the counts what changed since, in small transactions, so that dashboards have little left to add up. Ends early once
 * `signal` is aborted.
 */
export async function foldCounts(sql: Pool, signal?: AbortSignal) {
  for (const fold of [foldCertificateChanges, foldCoverageChanges])
    for (let folded = 1; folded > 0 && !signal?.aborted; ) folded = await sql.begin(async (tx) => ((await isLockFree(tx)) ? fold(tx) : 0));
}

/** Returns true when this transaction got the lock. Otherwise another server adds the changes for all. */
async function isLockFree(tx: Sql) {
  // A plan kept from a short queue compares each change of a long one with all that are to be taken.
  const [lock] = await tx<{ isOurs: boolean }[]>`
    select pg_try_advisory_xact_lock(${LOCK}) as "isOurs", set_config('plan_cache_mode', 'force_custom_plan', true)`;
  return lock?.isOurs === true;
}

/**
 * Counts everything again, from the rows themselves, while servers serve. Each kind of counts is a transaction, and an event of
 * the platform's trail.
 */
export async function rebuildCounts(sql: Pool, report: Report) {
  for (const [targetId, recount] of Object.entries(RECOUNTS)) {
    await retryWhileLocked(() =>
      sql.begin(async (tx) => {
        await tx`select set_config('statement_timeout', '0', true), set_config('lock_timeout', ${`${LOCK_TIMEOUT_MS}`}, true)`;
        await tx`select pg_advisory_xact_lock(${LOCK})`;
        await recount(tx);
        await addPlatformEvent(tx, BY, { action: "counts.rebuilt", targetType: "counts", targetId });
      }),
    );
    report(`${targetId}: counted again`);
  }
  await foldCounts(sql);
}

async function retryWhileLocked(work: () => Promise<unknown>) {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!IS_LOCKED.test(String((error as { code?: unknown }).code)) || tries === MAX_TRIES) throw error;
      await Bun.sleep(LOCK_TIMEOUT_MS);
    }
  }
}

const RECOUNTS = {
  certificates: recountCertificates,
  "trust-store-coverage": recountCoverage,
  "assignment-drifts": recountDrifts,
  "inbox-reads": recountReads,
};
