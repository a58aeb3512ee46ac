import { ServerStops } from "#modules/platform/jobs/rules";

type Pace = { everyMs: number; lastTurnMs?: number };

/**
 * Does `work` at once and then every so many milliseconds, one turn at a time. Returns a function that aborts the turn at hand and waits
 * for it or, with `lastTurnMs`, at most so long for one more.
 */
export function repeat({ everyMs, lastTurnMs }: Pace, work: (signal: AbortSignal) => Promise<void>) {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const turn = () =>
    (running ??= work(stopping.signal).finally(() => {
      running = undefined;
    }));
  const timer = setInterval(turn, everyMs);
  void turn();
  return async () => {
    clearInterval(timer);
    stopping.abort(new ServerStops());
    if (lastTurnMs === undefined) await running;
    else await Promise.race([(running ?? Promise.resolve()).then(turn), Bun.sleep(lastTurnMs)]);
  };
}
