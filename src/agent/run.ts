import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { backoffOf, pauseOf } from "./backoff";
import { describeHost, type Host } from "./host/host";
import { type Pass, runPass } from "./pass";
import { createServerClient, Unreachable } from "./server-client";
import { openState } from "./state";

export type AgentOptions = {
  server: string;
  token: string;
  ca: string | undefined;
  stateDirectory: string;
  /** Milliseconds between two passes, give or take a sixth. */
  interval: number;
  isOnce: boolean;
  isDryRun: boolean;
};
type Setting = { host: Host; log: Logger; version: string; signal: AbortSignal };

/** Runs the agent until `signal`, or one pass of it, and answers how the last pass went. */
export async function runAgent({ server, token, ca, stateDirectory, interval, isOnce, isDryRun }: AgentOptions, { host, log, version, signal }: Setting) {
  const memory = await openState(stateDirectory, { isReadOnly: isDryRun });
  try {
    const exchange = createServerClient({ server, token, ca, signal });
    const facts = await describeHost(hostname(), version);
    const agent = { host, memory, log, exchange, clock: () => new Date(), isDryRun, isUrgent: isOnce };
    if (isOnce) return await runPass(agent, { host: facts });
    let quietUntil = 0;
    for (let failures = 0, isKnown = false; ; ) {
      const isQuiet = performance.now() < quietUntil;
      const cycle: Pass = await runPass(agent, { host: isKnown ? undefined : facts, isQuiet }).catch((error: Error) => survive(error, log));
      if (!isQuiet) {
        failures = cycle.offline ? failures + 1 : 0;
        isKnown ||= !cycle.offline;
        quietUntil = cycle.offline ? performance.now() + backoffOf({ failures, interval, retryAfter: cycle.offline.retryAfter }) : 0;
      }
      await sleep(pauseOf(interval), undefined, { signal }).catch(() => {}); // woken in order to stop
      if (signal.aborted) return cycle;
    }
  } finally {
    memory.close();
  }
}

/** A pass that cannot even be recorded, on a full disk for instance, is no reason to end: the next one may. */
function survive({ message }: Error, log: Logger): Pass {
  log.error({ reason: message }, "the pass was given up");
  return { failed: 1, offline: new Unreachable(message) };
}
