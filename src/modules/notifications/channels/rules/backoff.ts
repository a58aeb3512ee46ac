const FIRST_MS = 5_000;
const MAX_MS = 3_600_000;

/** Returns how long to wait after so many failures in a row: 5, 10, 20 … seconds, at last an hour; longer where the other side asks for it. */
export const backoff = (failures: number, retryAfterMs = 0) => Math.max(Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 20), MAX_MS), retryAfterMs);
