import type { Pool } from "#db/connect";
import type { Deps } from "#deps";

/** Rows of one transaction, so that none is long. */
const AT_ONCE = 2_000;

/** The turn of a job that takes what is due, so many rows at a time, until a batch is not full. `take` returns how many it took. */
export const inBatches =
  (take: (sql: Pool, count: number, now: Date) => Promise<number>) =>
  async ({ sql, clock }: Pick<Deps, "sql" | "clock">, signal: AbortSignal) => {
    while (!signal.aborted && (await take(sql, AT_ONCE, clock())) === AT_ONCE);
  };
