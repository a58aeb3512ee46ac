import type { Pool } from "#db/connect";
import { forgetKeys } from "#db/idempotency-keys";
import type { Deps } from "#deps";
import { forgetDeliveries } from "#modules/governance/ai-systems/queries/metrics";
import { makePartitions } from "#modules/governance/ai-systems/queries/partitions";

const MONTHS_AHEAD = 3;
/** Senders give up on a delivery after a few days. */
const REMEMBERED_MS = 30 * 86_400_000;

/** Makes the partitions of this month and the next three; returns the names of the new ones. */
export const makeComingPartitions = (sql: Pool, now: Date) => makePartitions(sql, now, MONTHS_AHEAD);

/**
 * Makes the partitions of the coming months and forgets old deliveries and Idempotency-Keys. Until it succeeds, the default partition takes
 * every sample.
 */
export async function maintainPartitions({ sql, clock, log }: Pick<Deps, "sql" | "clock" | "log">) {
  const partitions = await makeComingPartitions(sql, clock());
  if (partitions.length > 0) log.info({ partitions }, "partitions created");
  await forgetKeys(sql);
  await forgetDeliveries(sql, new Date(clock().getTime() - REMEMBERED_MS));
}
