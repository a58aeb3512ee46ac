import { type Command, Option } from "commander";
import { ALONE, joinCluster } from "#cluster/channel";
import { createPrimary } from "#cluster/primary";
import type { Config } from "#config";
import { showDemo } from "#demo/demo";
import type { Deps } from "#deps";
import { claimAddress } from "#http/listen";
import { createLog, createSharedLog } from "#log/log";
import { findSharedDomain } from "#modules/issuance/domains/services/shared";
import { endOnFault, stopOnSignal } from "#runtime/shutdown";
import { openMigrated, startServer } from "#startup";
import { readWorkers } from "./arguments";
import { CommandError } from "./command-error";
import { readConfigOrExit } from "./environment";
import { VARIABLE_DETAILS } from "./variables-help";

type Options = { demo?: boolean; workers?: number; worker?: number; jobs?: boolean };

const HELP = `
It applies migrations first. Without DATABASE_URL it starts an embedded Postgres, its files under DATA_DIR.
Any number of servers may share one Postgres: each runs the background jobs, unless it has --no-jobs.
SIGTERM and SIGINT stop it: running requests get 10 seconds; a second signal ends it at once.

Configuration is environment variables alone. A faulty one stops the start, all faults at once; so does a name
that looks like one of these and is none, such as JWT_AUDENCE.

${VARIABLE_DETAILS}

Postgres: each session sets isolation, search_path, time zone and formats for itself. A pooler must let that through:
with pgbouncer use pool_mode = session, list the parameters in ignore_startup_parameters, and give them to the role.`;

export const addServe = (program: Command) =>
  program
    .command("serve")
    .description("Start the server.")
    .option("--demo", "make a demo organization with real certificates, and print what to try")
    .option("--workers <number>", "serve with so many processes on one port (needs DATABASE_URL, and Linux)", readWorkers)
    .option("--no-jobs", "only answer requests: another server on the same database runs the background jobs (needs DATABASE_URL)")
    .addOption(new Option("--worker <number>").argParser(readWorkers).hideHelp()) // how --workers starts each
    .addHelpText("after", HELP)
    .action(serve);

async function serve({ demo = false, workers = 1, worker, jobs = true }: Options) {
  const config = readConfigOrExit();
  if (!jobs) requireOthers(config, demo);
  if (worker) return serveAsWorker(config, { worker, workers, jobs });
  if (workers > 1) return serveWithWorkers(config, { workers, demo, jobs });
  if (demo && !config.jwtSecret) throw new CommandError("--demo needs JWT_SECRET: where an identity provider alone signs the tokens it has none to show.", 2);
  const log = createLog(config.logLevel);
  endOnFault(log);
  const server = await startServer(config, log, { isDemo: demo, cluster: { ...ALONE, runsJobs: jobs } });
  await warnOfSharedDomain(server.deps);
  log.info({ url: server.url.href, database: config.databaseUrl ? "postgres" : "embedded", ...(!jobs && { jobs }) }, "server listening");
  const stopping = new AbortController();
  const fail = stopOnSignal(() => {
    stopping.abort();
    return server.stop();
  }, log);
  if (demo) await showDemo(server, stopping.signal).catch((error: Error) => fail(error.message));
}

/**
 * Logs a warning where several organizations share the server and staff has yet to name one for its domains. The server runs on
 * where that cannot be read.
 */
async function warnOfSharedDomain({ sql, config, log }: Deps) {
  try {
    const warning = await findSharedDomain(sql, config);
    if (warning !== undefined) log.warn(warning);
  } catch (err) {
    log.warn({ err }, "whether organizations share the server's domain could not be read; certitude doctor looks again");
  }
}

/** Refuses `--no-jobs` where no other server could run the jobs. */
function requireOthers({ databaseUrl }: Config, demo: boolean) {
  if (!databaseUrl) throw new CommandError("--no-jobs needs DATABASE_URL: the embedded database has one server, and no other could run its jobs.", 2);
  if (demo) throw new CommandError("--demo is for a server that runs jobs: leave --no-jobs out.", 2);
}

type ServeOptions = Required<Pick<Options, "workers" | "demo" | "jobs">>;

async function serveWithWorkers(config: Config, { workers, demo, jobs }: ServeOptions) {
  if (!config.databaseUrl) throw new CommandError("--workers needs DATABASE_URL: the embedded database is one session, for one process.", 2);
  if (demo) throw new CommandError("--demo is for one process: leave --workers out.", 2);
  if (process.platform !== "linux") throw new CommandError("--workers needs Linux: elsewhere processes cannot share a port.", 2);
  const log = createLog(config.logLevel);
  endOnFault(log);
  const port = await claimAddress(config, log);
  await (await openMigrated(config, log)).stop();
  const primary = createPrimary({ workers, options: jobs ? [] : ["--no-jobs"], env: { ...Bun.env, PORT: `${port}` }, log });
  const ended = primary.run((url) => log.info({ url, database: "postgres", workers, ...(!jobs && { jobs }) }, "server listening"));
  stopOnSignal(() => {
    primary.stop();
    return ended;
  }, log);
  await ended;
}

async function serveAsWorker(config: Config, place: { worker: number; workers: number; jobs: boolean }) {
  if (!process.send) throw new CommandError("--worker is for the processes that --workers starts.", 2);
  const log = createSharedLog(config.logLevel);
  endOnFault(log);
  process.once("disconnect", () => process.exit(1)); // the primary was killed
  const cluster = joinCluster(place, { send: (message) => void process.send?.(message), onMessage: (receive) => process.on("message", receive) });
  const server = await startServer(config, log, { cluster });
  if (cluster.isFirst) await warnOfSharedDomain(server.deps);
  let stopping: Promise<void> | undefined;
  async function stop() {
    await server.stop();
    log.flush(() => process.exit(0));
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => (stopping ??= stop())); // a terminal sends it too: the second is the primary's affair
  process.send({ topic: "ready", data: server.url.href });
}
