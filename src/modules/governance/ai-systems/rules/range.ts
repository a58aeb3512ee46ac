import { readMoment, writeMoment } from "#db/moments";

/** From `from` up to, not including, `to`, in steps of so many seconds. */
export type Range = { from: string; to: string; step: number };
type RangeQuery = { from?: string; to?: string; step?: string };

const DAY = 86_400;
const MAX_STEPS = 10_000;
const MAX_STEP = 366 * 86_400;
const DURATION = /^P(?:(\d{1,9})W|(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?)?)$/;
const UNITS = [7 * 86_400, 86_400, 3_600, 60, 1];

/** The range that a query asks for, or what is wrong with it. */
export function readRange({ from, to, step = "3600" }: RangeQuery, now: Date): Range | { invalid: string } {
  const end = readMoment(to ?? now.toISOString());
  const start = from === undefined ? { ...end, seconds: end.seconds - DAY } : readMoment(from);
  const length = end.seconds - start.seconds + (end.micros - start.micros) / 1e6;
  const seconds = readStep(step);
  if (start.seconds < 0) return { invalid: "query.from must not be before 1970." };
  if (length <= 0) return { invalid: "query.from must be before query.to." };
  if (!(seconds >= 1 && seconds <= MAX_STEP))
    return { invalid: "query.step must be seconds (300) or an ISO 8601 duration (PT5M, P1D), from one second to 366 days." };
  if (length > MAX_STEPS * seconds) return { invalid: `query.step must be longer: the range would have more than ${MAX_STEPS} steps.` };
  return { from: writeMoment(start), to: writeMoment(end), step: seconds };
}

/** Returns seconds; NaN for what is no duration, and for months and years, which have no length of their own. */
function readStep(step: string) {
  if (/^\d{1,9}$/.test(step)) return Number(step);
  const parts = DURATION.exec(step)?.slice(1);
  return parts ? UNITS.reduce((sum, unit, index) => sum + unit * Number(parts[index] ?? 0), 0) : Number.NaN;
}
