import type { Deps } from "#deps";
import { foldCounts } from "#modules/core/widgets/queries/counts";
import { repeat } from "./repeat";

const INTERVAL_MS = 5_000;

/**
 * Adds changes to the counts every five seconds; servers take turns. Without it answers are right, but slow while many changes wait. A
 * failure is logged, and the next turn tries again. Returns a function that stops it and waits for the running statement.
 */
export const keepCounts = ({ sql, log }: Pick<Deps, "sql" | "log">) =>
  repeat(INTERVAL_MS, (signal) =>
    foldCounts(sql, signal).catch((err) => log.warn({ err }, "the counts could not be brought up to date; the next try is in five seconds")),
  );
