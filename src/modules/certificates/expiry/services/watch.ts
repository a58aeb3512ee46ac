import type { Pool } from "#db/connect";
import { writeEnds } from "../queries/ends";
import { announce, type Due, type Judged, keepJudgements, listUntold, reviewSome, takeDue } from "../queries/watch";
import { judgeExpiry } from "../rules";

/** Certificates of one transaction, so that none is long. */
const AT_ONCE = 2_000;

/**
 * Looks at every certificate that is due, and tells of those that reached a threshold. Each step is kept in the database: what a crash cuts off
 * is done by the next watch, and by one of several servers.
 */
export async function watchExpiry({ sql, clock }: { sql: Pool; clock: () => Date }, signal: AbortSignal) {
  while (!signal.aborted && (await reviewSome(sql, AT_ONCE, clock())));
  while (!signal.aborted && (await judgeSome(sql, clock())) === AT_ONCE);
  for (const { organizationId } of signal.aborted ? [] : await listUntold(sql)) await announce(sql, organizationId, clock());
}

/** Returns how many certificates were judged. */
const judgeSome = (sql: Pool, now: Date) =>
  sql.begin(async (tx) => {
    const due = await takeDue(tx, AT_ONCE, now);
    if (due.length === 0) return 0;
    const judged = due.map((each) => judge(each, now));
    await keepJudgements(tx, judged, now);
    const ended = due.filter(({ isStanding, isActive, isRenewed }) => isStanding && (!isActive || isRenewed));
    if (ended.length > 0)
      await writeEnds(
        tx,
        ended.map(({ organizationId, certificateId, isActive }) => ({ organizationId, certificateId, isRenewed: isActive })),
        now,
      );
    return due.length;
  });

/** Nothing is told of what has ended or is renewed, nor while a renewal is under way, until it is late: at the last threshold. */
function judge(certificate: Due, now: Date): Judged {
  const { organizationId, certificateId, ownerId, isActive, isRenewed, isUnderWay, isStanding, thresholds } = certificate;
  const { crossed, dueAt } = judgeExpiry(certificate, thresholds, now);
  const last = Math.min(...thresholds.map(({ days }) => days));
  const isLate = crossed.some((days) => days <= last);
  const mayBeTold = isActive && !isRenewed;
  const told = mayBeTold && (!isUnderWay || isLate) ? crossed : [];
  return { organizationId, certificateId, ownerId, crossed: told, isStanding: mayBeTold && (isStanding || told.length > 0), dueAt: isActive ? dueAt : null };
}
