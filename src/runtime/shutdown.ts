import type { Logger } from "pino";

/**
 * Ends the process with a log line when an unforeseen error reaches the top: it may have left work half done, such as an open
 * transaction in which later writes would be lost.
 */
export function endOnFault(log: Logger) {
  function end(err: unknown) {
    log.fatal({ err }, "unexpected error outside of any request or job: the process ends");
    process.exit(1); // what the log still holds is written at the exit
  }
  process.on("uncaughtException", end).on("unhandledRejection", end);
}

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
