import { compileSelector } from "#labels/selector";

const DAY = 86_400_000;

/** `share` is of the lifetime that is left: the threshold is reached once no more than the days, and no more than the share, are left. */
export type Threshold = { days: number; share?: number | undefined };

const SHARES = [1 / 3, 1 / 6, 1 / 12];
/** With shares, so that certificates of 90, 47 or one day are due in time too, but not on the day of their issue. */
const DEFAULT_THRESHOLDS: Threshold[] = [60, 30, 14, 7, 3, 1].map((days, index) => ({ days, share: SHARES[Math.min(index, 2)] }));

/** An override is for the certificates of one issuer, with some labels, or both; the first that fits counts. */
type Override = { issuer?: string | undefined; selector?: string | undefined; thresholds: Threshold[] };
export type ExpiryPolicy = { thresholds: Threshold[]; overrides: Override[]; role: "ORG_ADMIN" | "ORG_MEMBER" };
export const DEFAULT_POLICY: ExpiryPolicy = { thresholds: DEFAULT_THRESHOLDS, overrides: [], role: "ORG_ADMIN" };

/** The days of the threshold that every policy has: the end of the validity. */
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
  for (const [index, override] of overrides.entries()) {
    const fault = findOverrideFault(override, overrides.slice(0, index));
    if (fault) return `body.overrides[${index}]${fault}.`;
  }
}

function findOverrideFault({ issuer, selector }: Override, before: Override[]) {
  if (issuer === undefined && selector === undefined) return " must have an issuer, a selector, or both";
  const compiled = selector === undefined ? {} : compileSelector(selector);
  if ("fault" in compiled) return `.selector ${compiled.fault}`;
  if (before.some((other) => other.issuer === issuer && other.selector === selector)) return " is for the same certificates as one before it";
}

/** Returns the overrides as they are stored: each selector beside its jsonpath predicate over labels. */
export const compileOverrides = (overrides: Override[]) =>
  overrides.map((override) => ({ ...override, ...(override.selector !== undefined && { path: pathOf(override.selector) }) }));

function pathOf(selector: string) {
  const compiled = compileSelector(selector);
  if ("fault" in compiled) throw new Error(`The selector ${compiled.fault}`);
  return compiled.path;
}
