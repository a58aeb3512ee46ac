import type { Deps } from "../deps";
import { findMissingDocuments } from "../modules/knowledge/queries";
import type { Job } from "./queue";

/** Younger objects may belong to an upload that has not ended yet. */
const PATIENCE = 3_600_000;
const AT_ONCE = 500;

export const sweeping: Job = { name: "sweep-objects", cron: "23 * * * *", options: { retryLimit: 0, expireInSeconds: 600 } };

/** Removes the objects that no document names: a crash may leave one between the two steps of an upload or a deletion. */
export const sweepObjects = (deps: Pick<Deps, "sql" | "store" | "clock">) => async () => {
  let keys: string[] = [];
  const sweep = async () => {
    for (const key of await findMissingDocuments(deps.sql, keys)) await deps.store.remove(key);
    keys = [];
  };
  for await (const { key, modifiedAt } of deps.store.list()) {
    if (deps.clock().getTime() - modifiedAt.getTime() < PATIENCE) continue;
    if (keys.push(key) === AT_ONCE) await sweep();
  }
  await sweep();
};
