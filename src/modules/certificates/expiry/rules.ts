const DAY = 86_400_000;

/** `share` is of the lifetime that is left: the threshold is reached once no more than the days, and no more than the share, are left. */
export type Threshold = { days: number; share?: number | undefined };

const SHARES = [1 / 3, 1 / 6, 1 / 12];
/** Certificates of 90, 47 or one day are told of in time too, but not on the day of their issue. */
const DEFAULT_THRESHOLDS: Threshold[] = [60, 30, 14, 7, 3, 1].map((days, index) => ({ days, share: SHARES[Math.min(index, 2)] }));

/** An override is for the certificates of one issuer; the first that fits counts. */
export type ExpiryPolicy = { thresholds: Threshold[]; overrides: { issuer: string; thresholds: Threshold[] }[]; role: "ORG_ADMIN" | "ORG_MEMBER" };
export const DEFAULT_POLICY: ExpiryPolicy = { thresholds: DEFAULT_THRESHOLDS, overrides: [], role: "ORG_ADMIN" };

/** What counts as the days of the threshold that every policy has: the end of the validity. */
export const EXPIRED = 0;

type Validity = { notBefore: Date; notAfter: Date };
/** `crossed` are the days of thresholds, the most urgent first; `dueAt` is when the next one is reached, null after the last. */
export type Judgement = { crossed: number[]; dueAt: Date | null };

/** Judges which thresholds a certificate has reached. */
export function judgeExpiry({ notBefore, notAfter }: Validity, thresholds: Threshold[], now: Date): Judgement {
  const lifetime = notAfter.getTime() - notBefore.getTime();
  const moments = [...thresholds, { days: EXPIRED }]
    .map(({ days, share = 1 }) => ({ days, at: notAfter.getTime() - Math.min(days * DAY, share * lifetime) }))
    .toSorted((a, b) => b.at - a.at || a.days - b.days);
  const crossed = moments.filter(({ at }) => at <= now.getTime()).map(({ days }) => days);
  const next = moments.findLast(({ at }) => at > now.getTime());
  return { crossed, dueAt: next ? new Date(next.at) : null };
}

/** Returns what is wrong with a policy, as a sentence. */
export function findPolicyFault({ thresholds, overrides }: Pick<ExpiryPolicy, "thresholds" | "overrides">) {
  const lists = [{ where: "body.thresholds", thresholds }, ...overrides.map((each, index) => ({ where: `body.overrides[${index}].thresholds`, ...each }))];
  for (const { where, thresholds } of lists) {
    const twice = thresholds.find(({ days }, index) => thresholds.findIndex((other) => other.days === days) < index);
    if (twice) return `${where} names ${twice.days} days twice.`;
  }
  const doubled = overrides.find(({ issuer }, index) => overrides.findIndex((other) => other.issuer === issuer) < index);
  return doubled && `body.overrides names the issuer "${doubled.issuer}" twice.`;
}

/** What one addressee is told at once: `certificates` are the first to expire, of `count`. */
export type Telling = { addressee: string; days: number; count: number; certificates: { id: string; commonName: string; notAfter: string }[] };

/** The words of a notice: what it is about, as a title and a sentence. */
export function describeTelling({ days, count, certificates }: Telling, now: Date) {
  const [first] = certificates;
  if (!first) throw new Error("a notice of expiry names a certificate");
  const moment = `${first.notAfter.slice(0, 10)} at ${first.notAfter.slice(11, 16)} UTC`;
  const isExpired = days === EXPIRED;
  if (count === 1) {
    const verb = isExpired ? "has expired" : `expires ${describeLeft(new Date(first.notAfter).getTime() - now.getTime())}`;
    return { title: `${first.commonName} ${verb}`, message: `The certificate ${first.commonName} ${isExpired ? "expired" : "expires"} on ${moment}.` };
  }
  const names = certificates.slice(0, NAMED).map(({ commonName }) => commonName);
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  const title = isExpired
    ? `${count} certificates have expired`
    : `${count} certificates expire soon, the first ${describeLeft(new Date(first.notAfter).getTime() - now.getTime())}`;
  return { title, message: `${names.join(", ")}${more}. The first ${isExpired ? "expired" : "expires"} on ${moment}.` };
}

const NAMED = 3;

function describeLeft(milliseconds: number) {
  const hours = Math.floor(milliseconds / 3_600_000);
  const [count, unit] = hours >= 48 ? [Math.floor(hours / 24), "day"] : [hours, "hour"];
  return count < 1 ? "within the hour" : `in ${count} ${unit}${count === 1 ? "" : "s"}`;
}
