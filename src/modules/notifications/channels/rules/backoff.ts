import { backoff } from "#runtime/backoff";

const WAITS_MS = { first: 5_000, longest: 3_600_000 };

/**
 * Returns how long to wait after so many failures in a row: 5, 10, 20 … seconds, at last an hour; longer where the other side
 * asks for it.
 */
export const waitAfter = (failures: number, retryAfterMs = 0) => Math.max(backoff(WAITS_MS, failures), retryAfterMs);
