import { resolve } from "node:path";
import { Command } from "commander";
import { thisHost } from "#agent/host/host";
import { POLICY_FILE } from "#agent/policy/host-policy";
import { NotJoined, runAgent } from "#agent/run";
import { version } from "../../../package.json";
import { CommandError } from "../command-error";
import { type ConnectionFiles, followConnection } from "./connection";
import { listenToHangups } from "./hangups";
import { createAgentLog, type LogFormat, logFormatOption } from "./log-format";
import { addRunOptions, callOf } from "./options";

type Options = ConnectionFiles & {
  server?: string;
  stateDir: string;
  policy: string;
  interval: number;
  once?: boolean;
  dryRun?: boolean;
  metricsFile?: string;
  maxAnswer?: number;
  logFormat: LogFormat;
};

const HELP = `
It asks the server what is assigned to it, makes this host's trust stores hold that, proves it, and reports. Whatever
disappears or is replaced is put back at the next pass. It removes only what it has installed. Without the server it
goes by the last answer. Run it as root where the stores belong to root.

A host that has joined (certitude agent join) needs neither --server nor --token-file: its key is in the state directory.
Else the token is the one that enrolling the agent showed; its file must be readable by the agent's user alone.
After each change it runs root's own programs in /etc/certitude-agent/hooks.d, with the variables CERTITUDE_EVENT (installed,
healed or removed), CERTITUDE_ASSIGNMENT, CERTITUDE_STORE, CERTITUDE_FINGERPRINT, CERTITUDE_NAMES, CERTITUDE_PATHS
and, as certbot's hooks have them, RENEWED_DOMAINS and RENEWED_LINEAGE where a server's or client's certificate has come.

A changed token file, or one of the certificates, is taken up by itself; SIGHUP has a pass made at once, in which failures are tried again.

The server's certificate must lead to an authority of the system's store (/etc/ssl/certs/ca-certificates.crt, or
what SSL_CERT_FILE names) or, with --ca-file, to one of that file. A proxy is taken from HTTPS_PROXY; NO_PROXY lists the hosts that need none.

Exit codes: 0 done, 1 something failed (with --once) or the agent cannot run, 2 wrong usage.`;

export const addRun = (agent: Command) =>
  addRunOptions(agent.command("run", { isDefault: true }).description("Run the agent; this is what the agent does without a command."))
    .option("--policy <file>", "what this host permits (see agent policy --help)", POLICY_FILE)
    .option("--metrics-file <path>", "after each pass, write metrics there for node_exporter's textfile collector (name it …/certitude.prom)")
    .addOption(logFormatOption())
    .option("--once", "one pass, then end; failures are tried again at once")
    .option("--dry-run", "only log what would be done: nothing is written or reported")
    .addHelpText("after", HELP)
    .allowExcessArguments() // a misspelled command, since this is what runs without one
    .action(run);

/** Throws where `agent run` would not take these arguments, in the same words. */
export function checkRunArguments(argv: string[], agent: Command | null) {
  const command = addRun(new Command("agent"))
    .exitOverride()
    .action(() => {});
  command.parse(argv, { from: "user" });
  refuseExcess(command, agent);
}

function refuseExcess({ args: [unknown] }: Command, agent: Command | null) {
  if (unknown !== undefined) throw new CommandError(`There is no command ${unknown}: ${callOf(agent)} --help shows what there is.`, 2);
}

async function run(
  { server, stateDir, policy: file, interval, once = false, dryRun = false, metricsFile, maxAnswer, logFormat, ...files }: Options,
  command: Command,
) {
  refuseExcess(command, command.parent);
  const log = createAgentLog(logFormat);
  const connection = followConnection(files, Bun.env, log);
  const stopping = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stopping.abort(signal));
  const policy = { file: resolve(file), command: callOf(command.parent) };
  const where = { server, connection, stateDirectory: stateDir, maxAnswer };
  const options = { ...where, policy, interval: interval * 1_000, isOnce: once, isDryRun: dryRun, metricsFile };
  const onHangup = (ring: () => void) =>
    listenToHangups(() => {
      log.info("asked for a pass at once (SIGHUP)");
      ring();
    });
  log.info({ server, stateDir, version }, "agent started");
  const setting = { host: thisHost(Bun.env), log, version, signal: stopping.signal, onHangup };
  const { failed, unreachable } = await runAgent(options, setting).catch((error: Error) => {
    throw error instanceof NotJoined ? new CommandError(error.message, 2) : error;
  });
  log.info({ ...(stopping.signal.aborted && { signal: stopping.signal.reason }), version }, "agent stopped");
  await new Promise<void>((written) => log.flush(() => written()));
  if (once && unreachable) throw new CommandError(unreachable.message);
  if (once && failed > 0) throw new CommandError(`${failed} ${failed === 1 ? "assignment" : "assignments"} failed; the log says why.`);
}
