const JITTER = 1 / 6;
const LONGEST_BACKOFF = 15 * 60_000;
const LONGEST_OBEDIENCE = 60 * 60_000;

type Chance = () => number;
type Refusals = { failures: number; interval: number; retryAfter: number | undefined };

/** Milliseconds to the next pass: the interval, give or take a sixth, so that a fleet does not call all at once. */
export const pauseOf = (interval: number, chance: Chance = Math.random) => interval * (1 - JITTER + 2 * JITTER * chance());

/** Milliseconds for which a server that failed is left alone: longer each time, and never less than it asked for, up to an hour. */
export function backoffOf({ failures, interval, retryAfter = 0 }: Refusals, chance: Chance = Math.random) {
  const own = Math.min(interval * 2 ** Math.min(failures - 1, 10), LONGEST_BACKOFF) * (1 - JITTER * chance());
  return Math.max(own, Math.min(retryAfter, LONGEST_OBEDIENCE));
}
