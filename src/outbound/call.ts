export type Tls = { ca?: string; cert?: string; key?: string; rejectUnauthorized?: boolean };
/** An HTTP request to a server of others. */
export type Call = { method: string; url: URL; headers: Record<string, string>; body?: string | undefined; tls?: Tls };
/** Its answer, with the header `Retry-After` where there is one. */
export type Reply = { status: number; body: string; retryAfter?: string | undefined };

/** Returns the milliseconds that `Retry-After` (seconds, or a date) asks for, `maxMs` at most; undefined for what is neither. */
export function readRetryAfter(text: string | undefined, now: Date, maxMs: number) {
  const given = text?.trim() ?? "";
  const wait = /^\d{1,10}$/.test(given) ? Number(given) * 1_000 : readDate(given) - now.getTime();
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, 0), maxMs);
}

/** A date of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`. */
const readDate = (text: string) => (/^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text) ? Date.parse(text) : Number.NaN);
