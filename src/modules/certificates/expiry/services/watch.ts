import type { Pool } from "#db/connect";
import { recordExpiryEnds } from "../queries/ends";
import { awaitOthers, type Due, endReviews, type Judged, recordExpiryEvents, reviewSome, reviewUnrecorded, saveJudgements, takeDue } from "../queries/watch";
import { judgeExpiry } from "../rules";

/** Certificates of one transaction, so that none is long. */
const AT_ONCE = 2_000;

/**
 * Judges every certificate that is due, and records an event of each threshold that it has reached. What a crash cuts off is done by the
 * next turn, or by another server.
 */
export async function watchExpiry({ sql, clock }: { sql: Pool; clock: () => Date }, signal: AbortSignal, atOnce = AT_ONCE) {
  await reviewUnrecorded(sql, clock());
  while (!signal.aborted && (await reviewSome(sql, atOnce, clock())));
  while (!signal.aborted && (await judgeSome(sql, clock(), atOnce)) === atOnce);
  if (!signal.aborted) await endReviews(sql);
}

/** Returns how many certificates were judged. */
const judgeSome = (sql: Pool, now: Date, atOnce: number) =>
  sql.begin(async (tx) => {
    const due = await takeDue(tx, atOnce, now);
    if (due.length === 0) return 0;
    if (due.length === atOnce) await awaitOthers(tx, [...new Set(due.map(({ organizationId }) => organizationId))]);
    const reminders = await saveJudgements(
      tx,
      due.map((each) => judge(each, now)),
      now,
    );
    if (reminders.length > 0) await recordExpiryEvents(tx, reminders);
    const ended = due.filter(({ isStanding, isActive, isRenewed }) => isStanding && (!isActive || isRenewed));
    if (ended.length > 0)
      await recordExpiryEnds(
        tx,
        ended.map(({ organizationId, certificateId, isActive }) => ({ organizationId, certificateId, isRenewed: isActive })),
        now,
      );
    return due.length;
  });

/**
 * Returns no threshold of a certificate that has ended or is renewed, nor while a renewal is under way, until it is late: at the last one.
 */
function judge(certificate: Due, now: Date): Judged {
  const { organizationId, certificateId, ownerId, isActive, isRenewed, isUnderWay, isStanding, thresholds } = certificate;
  const { crossed, dueAt } = judgeExpiry(certificate, thresholds, now);
  const last = Math.min(...thresholds.map(({ days }) => days));
  const isLate = crossed.some((days) => days <= last);
  const isExpiring = isActive && !isRenewed;
  const reached = isExpiring && (!isUnderWay || isLate) ? crossed : [];
  return {
    organizationId,
    certificateId,
    ownerId,
    crossed: reached,
    isStanding: isExpiring && (isStanding || reached.length > 0),
    dueAt: isActive ? dueAt : null,
  };
}
