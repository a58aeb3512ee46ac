import { hostname } from "node:os";
import type { Logger } from "pino";
import { createAlarm } from "./alarm";
import { createListeners } from "./challenges/listeners";
import { describeHost, type Host } from "./host/host";
import { keyAccess, tokenAccess } from "./identity/access";
import { openIdentityFiles } from "./identity/identity-files";
import { createTrust } from "./identity/trust";
import { openKeptEntries } from "./kept-entries";
import { createMetricsFile } from "./metrics-file";
import { type Pass, runPass } from "./pass";
import { type PolicySource, policyReader } from "./policy/host-policy";
import { createReach } from "./reach";
import { createServerClient } from "./server-client";
import { openState, type State } from "./state";
import { type Connection, createTransport, Unreachable } from "./transport";

export type AgentOptions = {
  /** The server's address; undefined for the one that the host has joined. */
  server: string | undefined;
  connection: () => Connection;
  stateDirectory: string;
  policy: PolicySource;
  /** Milliseconds between two passes, give or take a sixth. */
  interval: number;
  isOnce: boolean;
  isDryRun: boolean;
  /** Bytes of an answer that are read at most; without it, as many as the transport takes. */
  maxAnswer?: number | undefined;
  /** The file for Prometheus' textfile collector, if any. */
  metricsFile?: string | undefined;
};
type Setting = {
  host: Host;
  log: Logger;
  version: string;
  signal: AbortSignal;
  /** Is called with what begins a pass at once, which asks the server and tries failures again, however long those were to wait. */
  onHangup?: (hurry: () => void) => void;
};

/** Neither the state directory nor the caller says which server this is, and who the agent is. */
export class NotJoined extends Error {
  constructor(stateDirectory: string) {
    super(
      `${stateDirectory} holds no identity: this host has not joined. Join first (certitude agent join), or give both --server <url> and --token-file <path>.`,
    );
  }
}

/** Runs the agent until `signal`, or one pass of it, and returns the result of the last pass. */
export async function runAgent({ policy, interval, isOnce, isDryRun, metricsFile, ...where }: AgentOptions, { host, log, version, signal, onHangup }: Setting) {
  const { stateDirectory } = where;
  const { server, client } = await connect({ ...where, isDryRun }, { host, log, signal });
  const state = await openState(stateDirectory, { isReadOnly: isDryRun });
  const keepEntries = await openKeptEntries(stateDirectory, host.entries);
  const listeners = createListeners();
  logLosses(state, stateDirectory, log);
  try {
    const facts = await describeHost(hostname(), version);
    const readPolicy = policyReader(policy, log);
    const agent = { host, state, log, client, listeners, clock: () => new Date(), isDryRun, isOnce };
    const writeMetrics = createMetricsFile(isDryRun ? undefined : metricsFile, state, log);
    async function pass(ignoreBackoff: boolean, how: Parameters<typeof runPass>[1]) {
      if (!isDryRun) await state.savePolicyPlace(policy.file);
      const done = await runPass({ ...agent, ignoreBackoff, policy: await readPolicy() }, how);
      if (!isDryRun) await keepEntries();
      return done;
    }
    if (isOnce) {
      const done = await pass(true, { host: facts });
      await writeMetrics(done, !done.unreachable);
      return done;
    }
    const alarm = createAlarm(signal);
    onHangup?.(alarm.ring);
    const reach = createReach(server, interval, log);
    for (let isAsked = false; ; ) {
      const isOffline = reach.isOffline();
      const done: Pass = await pass(isAsked, { host: reach.isKnown() ? undefined : facts, isOffline }).catch((error: Error) => survive(error, log));
      if (!isOffline) reach.note(done);
      await writeMetrics(done, !isOffline && !done.unreachable);
      isAsked = await alarm.pause(reach.pause());
      if (isAsked) reach.askAtOnce();
      if (signal.aborted) return { failed: done.failed }; // the server may only not have answered yet
    }
  } finally {
    listeners.close();
    state.close();
  }
}

type Options = Pick<AgentOptions, "server" | "connection" | "stateDirectory" | "isDryRun" | "maxAnswer">;

/** The server as this host knows it: by the identity that it joined with, else by its long-lived token. */
async function connect(
  { server: given, connection, stateDirectory, isDryRun, maxAnswer }: Options,
  { host, log, signal }: Pick<Setting, "host" | "log" | "signal">,
) {
  const files = openIdentityFiles(stateDirectory, { isReadOnly: isDryRun });
  const identity = await files.readIdentity();
  const server = given ?? identity?.server;
  if (server === undefined || (connection().token === undefined && !identity)) throw new NotJoined(stateDirectory);
  const send = createTransport({ server, connection, environment: host.environment, signal, maxAnswer });
  if (identity) log.info({ agentId: identity.agentId, organizationId: identity.organizationId }, "the host has joined: its key proves who it is");
  const access = identity ? keyAccess({ identity, save: files.saveIdentity, send, log }) : tokenAccess(() => connection().token ?? "", send);
  return { server, client: createServerClient({ server, access, trust: createTrust({ files, ask: access.ask, log }) }) };
}

/** Logs, once a start, the records that the agent has lost of what it installed before. */
function logLosses({ records, isNew }: State, directory: string, log: Logger) {
  if (isNew) log.info({ directory }, "the state directory holds no record: what was installed here before is not known, and is not removed");
  for (const { assignmentId, damage } of records.values()) if (damage) log.error({ assignment: assignmentId, reason: damage }, "a record was lost");
}

/** A pass that cannot even be recorded, on a full disk for instance, does not end the agent: the next one may succeed. */
function survive({ message }: Error, log: Logger): Pass {
  log.error({ reason: message }, "the pass failed");
  return { failed: 1, unreachable: new Unreachable(message), isBroken: true };
}
