import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { addNotice } from "#modules/people/notifications/queries";
import { type Due, type Judged, keepJudgements, listUntold, reviewSome, takeDue, takeTellings } from "../queries/watch";
import { describeTelling, EXPIRED, judgeExpiry, type Telling } from "../rules";

/** Certificates of one transaction, so that none is long. */
const AT_ONCE = 2_000;
/** Certificates that a notice names in its data. */
const LISTED = 100;

/**
 * Looks at every certificate that is due, and tells of those that reached a threshold. Each step is kept in the database: what a crash cuts off
 * is done by the next watch, and by one of several servers.
 */
export async function watchExpiry({ sql, clock }: { sql: Pool; clock: () => Date }, signal: AbortSignal) {
  while (!signal.aborted && (await reviewSome(sql, AT_ONCE, clock())));
  while (!signal.aborted && (await judgeSome(sql, clock())) === AT_ONCE);
  for (const { organizationId } of signal.aborted ? [] : await listUntold(sql)) await tellOrganization(sql, organizationId, clock());
}

/** Returns how many certificates were judged. */
const judgeSome = (sql: Pool, now: Date) =>
  sql.begin(async (tx) => {
    const due = await takeDue(tx, AT_ONCE, now);
    if (due.length > 0)
      await keepJudgements(
        tx,
        due.map((each) => judge(each, now)),
        now,
      );
    return due.length;
  });

/** Nothing is told of what has ended or is renewed, nor while a renewal is under way, until it is late: at the last threshold. */
function judge(certificate: Due, now: Date): Judged {
  const { organizationId, certificateId, ownerId, isActive, isRenewed, isUnderWay, thresholds } = certificate;
  const { crossed, dueAt } = judgeExpiry(certificate, thresholds, now);
  const last = Math.min(...thresholds.map(({ days }) => days));
  const isLate = crossed.some((days) => days <= last);
  const isTold = isActive && !isRenewed && (!isUnderWay || isLate);
  return { organizationId, certificateId, ownerId, crossed: isTold ? crossed : [], dueAt: isActive ? dueAt : null };
}

const tellOrganization = (sql: Pool, organizationId: string, now: Date) =>
  sql.begin(async (tx) => {
    const { role, tellings } = await takeTellings(tx, organizationId, LISTED, now);
    for (const telling of tellings) await tell(tx, organizationId, role, telling, now);
  });

function tell(tx: Sql, organizationId: string, role: "ORG_ADMIN" | "ORG_MEMBER", telling: Telling, now: Date) {
  const { addressee, days, count, certificates } = telling;
  const path = `/organizations/${organizationId}/certificates`;
  const notice = {
    ...describeTelling(telling, now),
    kind: days === EXPIRED ? ("certificate_expired" as const) : ("certificate_expiring" as const),
    organizationId,
    data: { days, count, certificates },
    link: count === 1 ? `${path}/${certificates[0]?.id}` : `${path}?expiresBefore=${certificates.at(-1)?.notAfter}`,
  };
  return addNotice(tx, notice, addressee === MIN_UUID ? { role } : { userId: addressee });
}
