import type { Logger } from "pino";
import type { Sql } from "./connect";

/** How far the server's clock may be from the database's: beyond it nothing that is due by the clock is done. */
export const MAX_DIFFERENCE_MS = 300_000;
/** How often the database is asked while the clocks agree, and while they differ. */
const AGREED_MS = 60_000;
const DIFFERING_MS = 1_000;
const LOGGED_MS = 60_000;

/** Returns the database's time, in milliseconds since 1970. */
export async function databaseTime(sql: Sql) {
  const [row] = await sql<{ at: number }[]>`select extract(epoch from clock_timestamp())::float8 * 1000 as at`;
  return row?.at;
}

type ClockCheckDeps = { sql: Sql; clock: () => Date; log: Pick<Logger, "error" | "info">; now: () => number };
export type ClockCheck = ReturnType<typeof createClockCheck>;

/**
 * Compares the server's clock with the database's; while they differ nothing irrevocable is done. Between two questions, `now`,
 * milliseconds that never go back, shows a jump of the server's clock.
 */
export function createClockCheck({ sql, clock, log, now }: ClockCheckDeps) {
  /** The server's time less the database's, as it would be if no clock had jumped since `askedAt`. */
  let known: { serverLessSteady: number; aheadMs: number; askedAt: number } | undefined;
  let differs = false;
  let loggedAt = Number.NEGATIVE_INFINITY;

  const serverLessSteady = () => clock().getTime() - now();
  const isBeyond = (ms: number) => Math.abs(ms) > MAX_DIFFERENCE_MS;

  function currentMs() {
    if (!known) return;
    const aheadMs = known.aheadMs + serverLessSteady() - known.serverLessSteady;
    return now() - known.askedAt < (isBeyond(aheadMs) ? DIFFERING_MS : AGREED_MS) ? aheadMs : undefined;
  }

  async function ask() {
    const askedAt = now();
    const at = await databaseTime(sql);
    const server = clock().getTime();
    const tookMs = now() - askedAt;
    known = { serverLessSteady: server - now(), aheadMs: server - tookMs / 2 - (at ?? server), askedAt };
    return known.aheadMs;
  }

  /** Returns by how many milliseconds the server's clock is ahead of the database's; negative where it is behind. */
  async function aheadMs() {
    const current = currentMs();
    return Math.round(current === undefined || (isBeyond(current) && !differs) ? await ask() : current);
  }

  /** Returns whether the clocks agree well enough to decide by them what is due. The log says, once a minute, that they do not. */
  async function agrees() {
    const ahead = await aheadMs();
    const differed = differs;
    differs = isBeyond(ahead);
    if (differed && !differs) log.info("the clocks of this server and of the database agree again: what is due is done");
    if (differs && now() - loggedAt > LOGGED_MS) {
      loggedAt = now();
      log.error({ aheadSeconds: Math.round(ahead / 1_000) }, DIFFERS);
    }
    return !differs;
  }

  return { aheadMs, agrees };
}

const DIFFERS =
  "this server's clock and the database's differ by more than five minutes: this server does nothing that is due by the clock until they agree. Set both by NTP";
