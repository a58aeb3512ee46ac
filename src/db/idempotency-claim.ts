import { AsyncLocalStorage } from "node:async_hooks";
import type { Fragment, Sql } from "./connect";

/** The claim of the request at hand: its id, once the Idempotency-Key is claimed. */
export const currentClaim = new AsyncLocalStorage<{ id: string | undefined }>();

/**
 * Returns `value` for a written row's column; without a claim, that is all. The first such row also marks the request's claim
 * as done, and fails when another attempt has taken that over.
 */
export function holdingClaim(sql: Sql, value: Fragment) {
  const id = currentClaim.getStore()?.id;
  return id === undefined ? value : sql`case when (select hold_claim(${id}::uuid)) then ${value} end`;
}
