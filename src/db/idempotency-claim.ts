import { AsyncLocalStorage } from "node:async_hooks";
import type { Fragment, Sql } from "./connect";

/** The claim of the request at hand: its id, once the Idempotency-Key is claimed. */
export const currentClaim = new AsyncLocalStorage<{ id: string | undefined }>();

/**
 * Returns `value` for a column of a row that a write adds. The first such row also marks the claim of this request as done, in the same
 * transaction. Fails, and the write with it, when another attempt took the claim over. Returns `value` alone when there is no claim.
 */
export function holdingClaim(sql: Sql, value: Fragment) {
  const id = currentClaim.getStore()?.id;
  return id === undefined ? value : sql`case when (select hold_claim(${id}::uuid)) then ${value} end`;
}
