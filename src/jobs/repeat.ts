/**
 * Does `work` every so many milliseconds, one at a time: a turn that is due while the last one runs is left out. Returns a function that
 * aborts the signal and waits for the work at hand. `work` handles its own failures.
 */
export function repeat(milliseconds: number, work: (signal: AbortSignal) => Promise<void>) {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work(stopping.signal).finally(() => {
      running = undefined;
    });
  }, milliseconds);
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await running;
  };
}
