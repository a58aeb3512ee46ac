import type { Sql } from "#db/connect";
import { lockName } from "#db/locks";

const lockNameOf = (organizationId: string) => `notifications ${organizationId}`;

/** Keeps other servers from dispatching events of this organization until the transaction ends; false where one of them does. */
export async function lockDispatch(tx: Sql, organizationId: string) {
  const [row] = await tx<{ isLocked: boolean }[]>`select pg_try_advisory_xact_lock(hashtextextended(${lockNameOf(organizationId)}, 0)) as "isLocked"`;
  return row?.isLocked ?? false;
}

/** As `lockDispatch`, but waits for the server that dispatches. */
export const awaitDispatch = (tx: Sql, organizationId: string) => lockName(tx, lockNameOf(organizationId));
