import { hostname } from "node:os";
import type { Logger } from "pino";
import { createAlarm } from "./alarm";
import { pauseOf } from "./backoff";
import { describeHost, type Host } from "./host/host";
import { type Pass, runPass } from "./pass";
import { createReach } from "./reach";
import { type Connection, createServerClient, Unreachable } from "./server-client";
import { openState } from "./state";

export type AgentOptions = {
  server: string;
  connection: () => Connection;
  stateDirectory: string;
  /** Milliseconds between two passes, give or take a sixth. */
  interval: number;
  isOnce: boolean;
  isDryRun: boolean;
};
type Setting = {
  host: Host;
  log: Logger;
  version: string;
  signal: AbortSignal;
  /** Is called with what begins a pass at once, and asks the server at once. */
  onHangup?: (hurry: () => void) => void;
};

/** Runs the agent until `signal`, or one pass of it, and returns the result of the last pass. */
export async function runAgent(
  { server, connection, stateDirectory, interval, isOnce, isDryRun }: AgentOptions,
  { host, log, version, signal, onHangup }: Setting,
) {
  const state = await openState(stateDirectory, { isReadOnly: isDryRun });
  try {
    const client = createServerClient({ server, connection, environment: host.environment, signal });
    const facts = await describeHost(hostname(), version);
    const agent = { host, state, log, client, clock: () => new Date(), isDryRun, ignoreBackoff: isOnce };
    if (isOnce) return await runPass(agent, { host: facts });
    const alarm = createAlarm(signal);
    onHangup?.(alarm.ring);
    const reach = createReach(server, interval, log);
    for (;;) {
      const isOffline = reach.isOffline();
      const pass: Pass = await runPass(agent, { host: reach.isKnown() ? undefined : facts, isOffline }).catch((error: Error) => survive(error, log));
      if (!isOffline) reach.note(pass);
      if (await alarm.pause(pauseOf(interval))) reach.askAtOnce();
      if (signal.aborted) return pass;
    }
  } finally {
    state.close();
  }
}

/** A pass that cannot even be recorded, on a full disk for instance, does not end the agent: the next one may succeed. */
function survive({ message }: Error, log: Logger): Pass {
  log.error({ reason: message }, "the pass failed");
  return { failed: 1, unreachable: new Unreachable(message), isBroken: true };
}
