import { forgetKeys } from "#db/idempotency-keys";
import type { Deps } from "#deps";
import { forgetDeliveries } from "#modules/governance/ai-systems/queries/metrics";
import { makePartitions } from "#modules/governance/ai-systems/queries/partitions";

const DAY = 86_400_000;
const MONTHS_AHEAD = 3;
/** Senders give up on a delivery after a few days. */
const REMEMBERED = 30 * DAY;

/**
 * Makes the partitions of the coming months and forgets old deliveries and Idempotency-Keys: now and once a day. A failure is logged and
 * stops nothing, because the default partition takes every sample. Answers how to stop.
 */
export async function keepPartitions({ sql, clock, log }: Pick<Deps, "sql" | "clock" | "log">) {
  async function run() {
    try {
      for (const name of await makePartitions(sql, clock(), MONTHS_AHEAD)) log.info({ partition: name }, "partition made");
      await forgetKeys(sql);
      await forgetDeliveries(sql, new Date(clock().getTime() - REMEMBERED));
    } catch (error) {
      log.warn({ err: error }, "the partitions of metrics could not be kept; the next try is tomorrow");
    }
  }
  await run();
  const timer = setInterval(run, DAY).unref();
  return () => clearInterval(timer);
}
