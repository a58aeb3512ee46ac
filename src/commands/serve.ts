import type { Server } from "bun";
import type { Command } from "commander";
import { createApp } from "#app";
import { openDatabase } from "#db/open";
import { mayTrustLocalPrograms, startDemo } from "#demo/demo";
import { createDeps, type Deps } from "#deps";
import { createFetch } from "#http/server-fetch";
import { keepAuditTrail } from "#jobs/audit-trail";
import { keepPartitions } from "#jobs/partitions";
import { prepareJobs, runJobs } from "#jobs/start";
import { createLog } from "#log";
import { serveMaintenance } from "#maintenance/tasks";
import { CommandError, readConfigOrExit } from "./environment";

const GRACE = 10_000;

type Options = { demo?: boolean };

export const addServe = (program: Command) =>
  program
    .command("serve")
    .description("Start the server.")
    .option("--demo", "make a demo organization with real certificates, and print requests to try")
    .addHelpText(
      "after",
      "\nWithout DATABASE_URL it starts an embedded Postgres, its files under DATA_DIR.\nSIGTERM and SIGINT stop it: running requests get 10 seconds; a second signal ends it at once.",
    )
    .action(serve);

async function serve({ demo = false }: Options) {
  const configured = readConfigOrExit();
  if (demo && !configured.jwtSecret)
    throw new CommandError("--demo needs JWT_SECRET: where an identity provider alone signs the tokens it has none to show.", 2);
  const log = createLog(configured.logLevel);
  const { db, stop } = await openDatabase(configured, log);
  const config = { ...configured, trustsLocalPrograms: demo && (await mayTrustLocalPrograms(configured, db.$client, log)) };
  const deps = createDeps({ config, db, log });
  const stopKeeping = await keepPartitions(deps);
  await prepareJobs(deps);
  const server = await listenOr(stop, deps);
  await runJobs(deps, server);
  const stopTasks = serveMaintenance(deps);
  log.info({ url: server.url.href, database: config.databaseUrl ? "postgres" : "embedded" }, "certitude serves");
  const stopTrail = keepAuditTrail(deps);
  let isEnding = false;
  const end = async (reason: string, exitCode: number) => {
    if (isEnding) return; // the demo's own requests fail once the server stops
    isEnding = true;
    for (const each of ["SIGTERM", "SIGINT"] as const) process.removeAllListeners(each).once(each, () => process.exit(1));
    log.info({ reason }, "stopping");
    stopKeeping();
    await stopTasks();
    deps.feed.close();
    await Promise.all([deps.queue.stop(), stopServer(server)]);
    await stopTrail();
    await stop();
    log.flush();
    process.exit(exitCode);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => end(signal, 0));
  if (demo) await startDemo(deps, server.url).then(console.info, (error: Error) => end(error.message, 1));
}

async function listenOr(stop: () => Promise<void>, deps: Deps) {
  try {
    return listen(deps);
  } catch (error) {
    await deps.queue.stop();
    await stop();
    throw new CommandError(`${deps.config.host}:${deps.config.port} is not free to listen on: ${(error as Error).message}`);
  }
}

export function listen(deps: Deps): Server<undefined> {
  const app = createApp(deps);
  const server: Server<undefined> = Bun.serve({
    hostname: deps.config.host,
    port: deps.config.port,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER, // Bun's own 413 has no message: the guards refuse what is too large before they read it
    idleTimeout: 30,
    development: false,
    reusePort: false, // or a second server would silently share the port
    fetch: createFetch(app, deps),
  });
  app.server = server;
  return server;
}

/** Refuses new connections, lets running requests end, and ends those that take over 10 s. */
async function stopServer(server: Server<undefined>) {
  await Promise.race([server.stop(), Bun.sleep(GRACE)]);
  await server.stop(true);
}
