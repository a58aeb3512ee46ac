import type { Logger } from "pino";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Runs `stop` and ends the process at the first SIGTERM or SIGINT, with exit code 0; a second one ends it at once, with 1.
 * Returns how to end it for another reason, with 1.
 */
export function stopOnSignal(stop: () => Promise<void>, log: Logger) {
  let isStopping = false;
  async function end(reason: string, exitCode: number) {
    if (isStopping) return;
    isStopping = true;
    for (const signal of SIGNALS) process.removeAllListeners(signal).once(signal, () => process.exit(1));
    log.info({ reason }, "shutting down");
    await stop();
    log.flush(() => process.exit(exitCode));
  }
  for (const signal of SIGNALS) process.once(signal, () => end(signal, 0));
  return (reason: string) => end(reason, 1);
}
