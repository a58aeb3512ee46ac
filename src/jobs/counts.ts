import type { Deps } from "#deps";
import { foldCounts } from "#modules/core/widgets/queries/counts";

const INTERVAL_MS = 5_000;

/**
 * Adds to the counts what changed since, every five seconds; servers take turns. Answers are right without it, and slow where much is left
 * to add up: a failure is logged, and the next turn does it. Returns how to stop, which waits for the statement that runs.
 */
export function keepCounts({ sql, log }: Pick<Deps, "sql" | "log">) {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  async function run() {
    await foldCounts(sql, stopping.signal).catch((err) => log.warn({ err }, "the counts could not be brought up to date; the next try is in five seconds"));
    running = undefined;
  }
  const timer = setInterval(() => {
    running ??= run();
  }, INTERVAL_MS);
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await running;
  };
}
