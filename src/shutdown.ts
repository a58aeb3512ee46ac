import type { Logger } from "pino";

/**
 * Ends the process with a line in the log where an error reaches the top of it, unforeseen. It does not go on: what that error left half done is
 * not known, and a transaction that nobody ends would lose what is written in it afterwards.
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
