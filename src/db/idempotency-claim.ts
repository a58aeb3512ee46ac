import { AsyncLocalStorage } from "node:async_hooks";
import type { Fragment } from "postgres";
import type { Sql } from "./connect";

/** The claim of the request at hand: its id, once the Idempotency-Key is claimed. */
export const currentClaim = new AsyncLocalStorage<{ id: string | undefined }>();

/**
 * `value`, for a column of a row that a write adds: with the first such row it notes in the same transaction that the write of
 * this request's claim was done. It fails, and the write with it, where the claim was taken over. Just `value` without a claim.
 */
export function holdingClaim(sql: Sql, value: Fragment) {
  const id = currentClaim.getStore()?.id;
  return id === undefined ? value : sql`case when (select hold_claim(${id}::uuid)) then ${value} end`;
}
