import { type Reply, readRetryAfter } from "#outbound/call";

/** The outcome of an attempt. A reason is a sentence that holds no secret, and of the answer its status alone. */
export type Outcome = { state: "delivered"; status: number | null } | Failed;
export type Failed = { state: "failed"; status: number | null; reason: string; isFinal: boolean; retryAfterMs?: number };

const MAX_WAIT_MS = 86_400_000;
/** Client errors that time can heal: timeout, too early, too many requests. */
const TRANSIENT = [408, 425, 429];

export const fail = (reason: string, isFinal: boolean): Failed => ({ state: "failed", status: null, reason, isFinal });

/** Returns what an answer means where a status from 200 to 299 is success. */
export function judgeStatus({ status, retryAfter }: Reply, now: Date): Outcome {
  if (status >= 200 && status < 300) return { state: "delivered", status };
  const isFinal = status >= 400 && status < 500 && !TRANSIENT.includes(status);
  const wait = isFinal ? undefined : readRetryAfter(retryAfter, now, MAX_WAIT_MS);
  return { state: "failed", status, reason: describeStatus(status), isFinal, ...(wait !== undefined && { retryAfterMs: wait }) };
}

function describeStatus(status: number) {
  if (status === 401 || status === 403) return `It answered ${status}: it does not accept the credentials.`;
  if (status === 404 || status === 410) return `It answered ${status}: there is nothing at this address.`;
  if (status === 429) return "It answered 429: it takes no more for now.";
  if (status >= 300 && status < 400) return `It answered ${status}, a redirect, which is not followed.`;
  return `It answered ${status}.`;
}
