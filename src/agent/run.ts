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

/** Runs the agent until `signal`, or one pass of it, and returns the result of the last pass. */
export async function runAgent({ server, token, ca, stateDirectory, interval, isOnce, isDryRun }: AgentOptions, { host, log, version, signal }: Setting) {
  const state = await openState(stateDirectory, { isReadOnly: isDryRun });
  try {
    const client = createServerClient({ server, token, ca, signal });
    const facts = await describeHost(hostname(), version);
    const agent = { host, state, log, client, clock: () => new Date(), isDryRun, ignoreBackoff: isOnce };
    if (isOnce) return await runPass(agent, { host: facts });
    let offlineUntil = 0;
    for (let failures = 0, isKnown = false; ; ) {
      const isOffline = performance.now() < offlineUntil;
      const pass: Pass = await runPass(agent, { host: isKnown ? undefined : facts, isOffline }).catch((error: Error) => survive(error, log));
      if (!isOffline) {
        failures = pass.unreachable ? failures + 1 : 0;
        isKnown ||= !pass.unreachable;
        offlineUntil = pass.unreachable ? performance.now() + backoffOf({ failures, interval, retryAfter: pass.unreachable.retryAfter }) : 0;
      }
      await sleep(pauseOf(interval), undefined, { signal }).catch(() => {}); // ended by the signal
      if (signal.aborted) return pass;
    }
  } finally {
    state.close();
  }
}

/** A pass that cannot even be recorded, on a full disk for instance, does not end the agent: the next one may succeed. */
function survive({ message }: Error, log: Logger): Pass {
  log.error({ reason: message }, "the pass failed");
  return { failed: 1, unreachable: new Unreachable(message) };
}
