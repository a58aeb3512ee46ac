import { backoff } from "#runtime/backoff";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Of the wait, at most, so that what has failed together is not tried again together. */
const JITTER = 0.25;
/** Of what is left of the validity, at most; but never sooner than after SHORTEST. */
const OF_WHAT_IS_LEFT = 1 / 8;
/** Of the lifetime, at most, once it is over. */
const OF_LIFETIME = 1 / 30;
const SHORTEST = 10_000;

type Failed = { failures: number; notBefore: Date; notAfter: Date };

/**
 * Returns when a renewal is ordered again after so many requests in a row that failed for good: after 1, 2, 4 … hours, a day at last,
 * sooner where little is left. `chance` is from 0 to 1.
 */
export function retryAfter({ failures, notBefore, notAfter }: Failed, now: Date, chance: number) {
  const left = notAfter.getTime() - now.getTime();
  const most = Math.max(left > 0 ? left * OF_WHAT_IS_LEFT : (notAfter.getTime() - notBefore.getTime()) * OF_LIFETIME, SHORTEST);
  return new Date(now.getTime() + Math.round(Math.min(backoff({ first: HOUR, longest: DAY }, failures), most) * (1 + JITTER * chance)));
}

/** The number of renewals of one issuer that may fail in a row before it rests: then one is tried alone, after each rest. */
export const FAILURES_ALLOWED = 5;

/**
 * Returns for how many milliseconds no renewal is ordered of an issuer of which so many have failed in a row: 5, 10, 20 …
 * minutes, an hour at last.
 */
export const restAfter = (failures: number) =>
  failures < FAILURES_ALLOWED ? 0 : backoff({ first: 5 * MINUTE, longest: HOUR }, failures - FAILURES_ALLOWED + 1);

/** Returns the next review of whether a host has a certificate that was issued at `since`: soon at first, after an hour at last. */
export const reviewAgainAt = (since: Date, now: Date) => new Date(now.getTime() + Math.min(Math.max((now.getTime() - since.getTime()) / 4, SHORTEST), HOUR));

/** The standing of an issuer: failures of its renewals in a row. Nothing is ordered before `restsUntil`. */
export type Standing = { failures: number; restsUntil: Date | null };

/** Returns the standing of an issuer after the outcomes of some more requests. */
export function standingOf({ failures, restsUntil }: Standing, outcomes: (string | undefined)[], now: Date): Standing {
  if (outcomes.includes("issued")) return { failures: 0, restsUntil: null };
  const failed = outcomes.filter((each) => each === "failed").length;
  if (failed === 0) return { failures, restsUntil };
  const restMs = restAfter(failures + failed);
  return { failures: failures + failed, restsUntil: restMs === 0 ? restsUntil : new Date(now.getTime() + restMs) };
}
