import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Cycle, runCycle } from "./cycle";
import { createExchange } from "./exchange";
import { describeHost, type Host } from "./host";
import { openMemory } from "./memory";

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

const JITTER = 1 / 6;
const LONGEST_BACKOFF = 15 * 60_000;

/** Runs the agent until `signal`, or one pass of it, and answers how the last pass went. */
export async function runAgent({ server, token, ca, stateDirectory, interval, isOnce, isDryRun }: AgentOptions, { host, log, version, signal }: Setting) {
  const memory = await openMemory(stateDirectory);
  try {
    const exchange = createExchange({ server, token, ca, signal });
    const facts = await describeHost(hostname(), version);
    const agent = { host, memory, log, exchange, clock: () => new Date(), isDryRun, isUrgent: isOnce };
    let quietUntil = 0;
    for (let failures = 0, isKnown = false; ; ) {
      const isQuiet = performance.now() < quietUntil;
      const cycle = await runCycle(agent, { host: isKnown ? undefined : facts, isQuiet });
      if (isOnce) return cycle;
      if (!isQuiet) {
        failures = cycle.offline ? failures + 1 : 0;
        isKnown ||= !cycle.offline;
        quietUntil = performance.now() + backoff(cycle, failures, interval);
      }
      await sleep(interval * (1 - JITTER + 2 * JITTER * Math.random()), undefined, { signal }).catch(() => {}); // woken in order to stop
      if (signal.aborted) return cycle;
    }
  } finally {
    memory.close();
  }
}

/** Milliseconds for which the server is left alone; drift is healed meanwhile. */
function backoff({ offline }: Cycle, failures: number, interval: number) {
  if (!offline) return 0;
  return Math.max(offline.retryAfter ?? 0, Math.min(interval * 2 ** Math.min(failures - 1, 10), LONGEST_BACKOFF)) * (1 - JITTER * Math.random());
}
