import type { Deps } from "#deps";
import { findOrphans } from "#modules/knowledge/documents/queries/documents";
import { eachHour, type QueuedJob } from "./queue";

/** Younger objects may belong to an upload that has not ended yet. */
const ORPHAN_AGE_MS = 3_600_000;
const AT_ONCE = 500;

export const sweeping: QueuedJob = { name: "sweep-objects", schedule: eachHour(23), options: { retryLimit: 0, expireInSeconds: 600 } };

/**
 * Removes the objects that no document names, and half-written ones: what a crash leaves between the two steps of an upload or a deletion.
 */
export const sweepObjects = (deps: Pick<Deps, "sql" | "store" | "clock">) => async () => {
  let keys: string[] = [];
  const sweep = async () => {
    for (const key of await findOrphans(deps.sql, keys)) await deps.store.remove(key);
    keys = [];
  };
  for await (const { key, modifiedAt, isDraft } of deps.store.list()) {
    if (deps.clock().getTime() - modifiedAt.getTime() < ORPHAN_AGE_MS) continue;
    if (isDraft) await deps.store.remove(key);
    else if (keys.push(key) === AT_ONCE) await sweep();
  }
  await sweep();
};
