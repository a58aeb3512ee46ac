import { isSecureUrl } from "#auth/secure-url";
import { databaseTime, MAX_DIFFERENCE_MS } from "#db/clock-check";
import type { Sql } from "#db/connect";

/** How far a clock is ahead of this machine's, in milliseconds; 0 where the difference is within the time that asking took. */
type Compared = { whose: string; aheadMs: number; stopsJobs?: boolean };
type Judged = { state: "ok" | "warning" | "failed"; message: string };

/** Tokens, signed requests of agents and shares of lifetimes go by the clock. */
const [LATE_MS, WRONG_MS] = [1_000, 30_000];
const TIMEOUT_MS = 4_500;
/** How exact an HTTP date is. */
const SECOND_MS = 1_000;

export async function compareWithDatabase(sql: Sql): Promise<Compared> {
  const before = Date.now();
  const at = (await databaseTime(sql)) ?? before;
  return { whose: "The database's", aheadMs: beyond(at, before, Date.now()), stopsJobs: true };
}

/** By the Date header of the provider's discovery document. */
export async function compareWithProvider(issuer: string): Promise<Compared> {
  if (!isSecureUrl(issuer)) throw new Error(`${issuer} is not https.`);
  const before = Date.now();
  const { headers } = await fetch(`${issuer}/.well-known/openid-configuration`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  const at = Date.parse(headers.get("date") ?? "");
  if (Number.isNaN(at)) throw new Error(`${issuer} says no time: its answer has no Date header.`);
  return { whose: `The identity provider's (${issuer})`, aheadMs: beyond(at, before - SECOND_MS, Date.now()) };
}

/** Returns how far a moment lies outside of the time in which it was asked for. */
const beyond = (at: number, before: number, after: number) => Math.round(at < before ? at - before : Math.max(0, at - after));

export function judgeClock({ whose, aheadMs, stopsJobs = false }: Compared): Judged {
  const difference = `${whose} clock is ${inWords(Math.abs(aheadMs))} ${aheadMs < 0 ? "behind" : "ahead of"} this machine's`;
  const stopped = stopsJobs && Math.abs(aheadMs) > MAX_DIFFERENCE_MS ? " Until then the server does nothing that is due by the clock." : "";
  if (Math.abs(aheadMs) > WRONG_MS)
    return { state: "failed", message: `${difference}: set both by NTP, or certificates and tokens are judged wrongly.${stopped}` };
  if (Math.abs(aheadMs) > LATE_MS) return { state: "warning", message: `${difference}. Set both by NTP.` };
  return { state: "ok", message: `${whose} clock and this machine's agree.` };
}

const inWords = (ms: number) => (ms < 60_000 ? `${ms} ms` : ms < 7_200_000 ? `${Math.round(ms / 60_000)} minutes` : `${Math.round(ms / 3_600_000)} hours`);
