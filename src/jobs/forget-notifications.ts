import type { Deps } from "#deps";
import { deleteOldEvents, deleteOldNotifications } from "#modules/notifications/dispatch/queries/forget";
import { eachHour, type QueuedJob, type Work } from "./queue";

/** Milliseconds for which notifications and their events are kept. Inboxes keep their notices. */
const KEPT_MS = 90 * 86_400_000;
/** Rows of one statement, so that no transaction is long. */
const AT_ONCE = 5_000;

export const forgettingNotifications: QueuedJob = { name: "forget-notifications", schedule: eachHour(11), options: { retryLimit: 0, expireInSeconds: 600 } };

/**
 * Deletes events that are older than ninety days, but for those of states that stand, and the notifications that list no event any more.
 */
export const forgetNotifications =
  ({ sql, clock }: Pick<Deps, "sql" | "clock">): Work<object> =>
  async (_, signal) => {
    const until = clock().getTime() - KEPT_MS;
    for (const forget of [deleteOldEvents, deleteOldNotifications])
      for (let deleted = AT_ONCE; deleted === AT_ONCE && !signal.aborted; ) deleted = await forget(sql, until, AT_ONCE);
  };
