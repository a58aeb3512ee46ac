import { type App, createApp } from "#app";
import { ALONE, type Cluster } from "#cluster/channel";
import type { Config } from "#config";
import { POOL_SIZE } from "#db/connect";
import { openDatabase, reachDatabase } from "#db/open";
import { mayTrustLocalPrograms } from "#demo/demo";
import { createDeps, type Deps } from "#deps";
import { checkAddress, type Listening, listen } from "#http/listen";
import { makeComingPartitions } from "#jobs/partitions";
import { prepareJobs, repeatJobs, runQueuedJobs } from "#jobs/start";
import type { Log } from "#log/log";
import { demandStamps } from "#maintenance/stamping";
import { serveMaintenance } from "#maintenance/tasks";

const GRACE_MS = 10_000;

export type Running = { deps: Deps; app: App; url: URL; stop: () => Promise<void> };

type ServerRole = { isDemo?: boolean; cluster?: Cluster };

/** Checks that the address is free, because else no database is to be made; opens the database, listens, and starts the jobs. */
export async function startServer(configured: Config, log: Log, { isDemo = false, cluster = ALONE }: ServerRole = {}): Promise<Running> {
  const database = cluster.worker === undefined ? await openAlone(configured, log) : await reachDatabase(configured, log, { max: connectionsOf(cluster) });
  const trustsLocalPrograms = isDemo && (await mayTrustLocalPrograms(configured, database.db.$client, log));
  const config = { ...configured, trustsLocalPrograms };
  const deps = createDeps({ config, db: database.db, log, cluster });
  await prepareJobs(deps);
  await demandStamps(deps);
  const app = createApp(deps);
  const server = await listenOrClose(app, deps, database.stop);
  if (cluster.runsJobs) await runQueuedJobs(deps, app.handle);
  const stopRepeating = repeatJobs(deps);
  const stopMaintenance = serveMaintenance(deps);

  /** Lets running requests and jobs end, then closes the database. */
  async function stop() {
    await stopMaintenance();
    deps.feed.close();
    await Promise.all([deps.queue.stop(), stopListening(server)]);
    deps.mail?.close();
    await stopRepeating();
    await database.stop();
  }
  return { deps, app, url: server.url, stop };
}

async function openAlone(config: Config, log: Log) {
  await checkAddress(config, log);
  return openMigrated(config, log);
}

/** Opens the database, with every migration applied and the partitions made that are due. */
export const openMigrated = (config: Config, log: Log) => openDatabase(config, log, (sql) => makeComingPartitions(sql, new Date()).catch(() => [])); // the job makes what is missing, and logs failures

/** Returns the share of a worker in the connections of one process, at least two: one for what may take long, one for the rest. */
const connectionsOf = ({ workers }: Cluster) => Math.max(2, Math.ceil(POOL_SIZE / workers));

async function listenOrClose(app: App, deps: Deps, closeDatabase: () => Promise<void>) {
  try {
    return listen(app, deps);
  } catch (error) {
    await deps.queue.stop();
    await closeDatabase();
    throw error;
  }
}

/** Refuses new connections, lets running requests end, and ends those that take over 10 s. */
async function stopListening(server: Listening) {
  await Promise.race([server.stop(), Bun.sleep(GRACE_MS)]);
  await server.stop(true);
}
