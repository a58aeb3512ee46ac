import { backoff } from "#runtime/backoff";

const JITTER = 1 / 6;
const SHORTEST_HURRY = 2_000;
const LONGEST_BACKOFF = 15 * 60_000;
const LONGEST_RETRY_AFTER = 60 * 60_000;
const LONGEST_RETRY_DELAY = 60 * 60_000;
/** Of the lifetime of a certificate that is to be replaced, at most; but never sooner than after SHORTEST_RETRY_DELAY. */
const OF_LIFETIME = 1 / 30;
const SHORTEST_RETRY_DELAY = 5_000;

type Chance = () => number;
type Refusals = { failures: number; interval: number; retryAfter: number | undefined };

/** Milliseconds to the next pass: the interval, give or take a sixth, so that a fleet does not call all at once. */
export const pauseOf = (interval: number, chance: Chance = Math.random) => interval * (1 - JITTER + 2 * JITTER * chance());

/**
 * Milliseconds between passes while certificates are on their way: as long as nothing has changed, so that an order waits for
 * no full interval.
 */
export const hurriedInterval = (interval: number, unchangedFor: number) => Math.min(interval, Math.max(unchangedFor, SHORTEST_HURRY));

/** Milliseconds for which a server that failed is not asked: longer each time, and never less than its Retry-After, up to an hour. */
export function backoffOf({ failures, interval, retryAfter = 0 }: Refusals, chance: Chance = Math.random) {
  const own = backoff({ first: interval, longest: LONGEST_BACKOFF }, failures) * (1 - JITTER * chance());
  return Math.max(own, Math.min(retryAfter, LONGEST_RETRY_AFTER));
}

/**
 * Milliseconds until an assignment that failed so many times is tried again: 1, 2, 4 … 60 minutes, sooner where the certificate
 * that it has now lives but minutes or hours.
 */
export const retryDelay = (failures: number, lifetimeMs = Number.POSITIVE_INFINITY) =>
  Math.min(backoff({ first: 60_000, longest: LONGEST_RETRY_DELAY }, failures), Math.max(lifetimeMs * OF_LIFETIME, SHORTEST_RETRY_DELAY));

/** Returns whether there is still time to wait; a wait longer than the longest delay means that the clock was put back. */
export const isWithinBackoff = (wait: number) => wait > 0 && wait <= LONGEST_RETRY_DELAY;
