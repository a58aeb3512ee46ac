/**
 * Does `work` every so many milliseconds, one at a time: a turn that is due while the last one runs is left out. Returns a function that
 * aborts the signal and waits for the work at hand. `work` handles its own failures. The first turn is at once, or after that time.
 */
export function repeat(milliseconds: number, work: (signal: AbortSignal) => Promise<void>, { isAtOnce = false } = {}) {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const turn = () => {
    running ??= work(stopping.signal).finally(() => {
      running = undefined;
    });
  };
  const timer = setInterval(turn, milliseconds);
  if (isAtOnce) turn();
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await running;
  };
}
