import type { Sql } from "./connect";

/** Takes the advisory lock of a name until the transaction ends, so that one comes after the other. */
export const lockName = (sql: Sql, name: string) => sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`;

/**
 * Locks an organization's row until the transaction ends, so that what it may have only so many of is counted by one request
 * after the other.
 */
export async function lockOrganization(tx: Sql, id: string) {
  const [row] = await tx<{ seatLimit: number | null }[]>`select seat_limit as "seatLimit" from organizations where id = ${id} for no key update`;
  return row;
}
