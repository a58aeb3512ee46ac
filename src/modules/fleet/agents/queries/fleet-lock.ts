import type { Pool, Sql } from "#db/connect";
import { lockName } from "#db/locks";

/**
 * Changes of many agents, or of what many have to install, come one after the other as a whole, instead of waiting for each
 * other row by row.
 */
export const lockFleet = (tx: Sql, organizationId: string) => lockName(tx, `fleet ${organizationId}`);

/** A transaction under that lock. Retried once on a unique violation (23505): the second attempt sees the concurrent row. */
export async function withFleetLock<Result>(sql: Pool, organizationId: string, change: (tx: Sql) => Promise<Result>) {
  const attempt = () =>
    sql.begin(async (tx) => {
      await tx`discard plans`; // one kept from when there were few agents, a foreign key's too, would read all of them for each
      await lockFleet(tx, organizationId);
      return change(tx);
    });
  return attempt().catch((error) => {
    if (error.code !== UNIQUE_VIOLATION) throw error;
    return attempt();
  });
}

const UNIQUE_VIOLATION = "23505";
