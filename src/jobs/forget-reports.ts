import type { Deps } from "#deps";
import { deleteOldReports } from "#modules/fleet/assignments/queries/history";
import { eachHour, type QueuedJob, type Work } from "./queue";

/** Milliseconds for which reports of agents are kept: ninety days. */
const KEPT_MS = 90 * 86_400_000;
/** Rows of one statement, so that no transaction is long. */
const AT_ONCE = 5_000;

export const forgetting: QueuedJob = { name: "forget-reports", schedule: eachHour(41), options: { retryLimit: 0, expireInSeconds: 600 } };

/** Deletes the reports that are older than ninety days; the last of each assignment stays. */
export const forgetReports =
  (deps: Pick<Deps, "sql" | "clock">): Work<object> =>
  async (_, signal) => {
    const until = new Date(deps.clock().getTime() - KEPT_MS);
    for (let deleted = AT_ONCE; deleted === AT_ONCE && !signal.aborted; ) deleted = await deleteOldReports(deps.sql, until, AT_ONCE);
  };
