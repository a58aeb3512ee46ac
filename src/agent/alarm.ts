/** A pause that can be cut short: by `ring`, once and for all by the signal. */
export function createAlarm(signal: AbortSignal) {
  let isRung = false;
  let wake = () => {};
  signal.addEventListener("abort", () => wake());

  function ring() {
    isRung = true;
    wake();
  }

  /** Resolves after so many milliseconds, or when it is cut short; also where it rang before. Returns whether it rang. */
  async function pause(milliseconds: number) {
    if (!isRung && !signal.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    const wasRung = isRung;
    isRung = false;
    return wasRung;
  }

  return { ring, pause };
}
