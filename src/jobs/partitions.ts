import type { Pool } from "#db/connect";
import { forgetKeys } from "#db/idempotency-keys";
import type { Deps } from "#deps";
import { forgetDeliveries } from "#modules/governance/ai-systems/queries/metrics";
import { makePartitions } from "#modules/governance/ai-systems/queries/partitions";

const DAY = 86_400_000;
const MONTHS_AHEAD = 3;
/** Senders give up on a delivery after a few days. */
const REMEMBERED = 30 * DAY;

/** Makes the partitions of this month and the next three; returns the names of the new ones. */
export const makeComingPartitions = (sql: Pool, now: Date) => makePartitions(sql, now, MONTHS_AHEAD);

/**
 * Makes the partitions of the coming months and forgets old deliveries and Idempotency-Keys: now and once a day. A failure is logged and
 * stops nothing, because the default partition takes every sample. Returns how to stop.
 */
export async function keepPartitions({ sql, clock, log }: Pick<Deps, "sql" | "clock" | "log">) {
  async function run() {
    try {
      const partitions = await makeComingPartitions(sql, clock());
      if (partitions.length > 0) log.info({ partitions }, "partitions created");
      await forgetKeys(sql);
      await forgetDeliveries(sql, new Date(clock().getTime() - REMEMBERED));
    } catch (error) {
      log.warn({ err: error }, "maintenance of metric partitions failed, retrying in 24 hours");
    }
  }
  await run();
  const timer = setInterval(run, DAY).unref();
  return () => clearInterval(timer);
}
