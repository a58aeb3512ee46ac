import type { Logger } from "pino";
import { type Config, ConfigError } from "#config";
import { connectDatabase, type Db, forRequests, MAINTENANCE, type Pool, type Settings } from "./connect";
import { startEmbedded } from "./embedded";
import { failure, isDatabaseAway, READ_ONLY } from "./failures";
import { migrate } from "./migrate";
import { closeDirectory } from "./private-directory";
import { checkKeys } from "./secret-keys";
import { missingParameters } from "./session";

const CONNECT_TIMEOUT_MS = 30_000;

export type Database = { db: Db; stop: () => Promise<void> };

type Where = Pick<Config, "databaseUrl" | "dataDir"> & { isBare?: boolean; mustWrite?: boolean };
type Opened = Where & Pick<Config, "keyring" | "requestTimeout">;

/**
 * The database of the configuration, reachable: DATABASE_URL, tried for 30 s, or the embedded one. With `mustWrite` one that
 * takes no writes is tried again, too.
 */
export async function reachDatabase(
  { databaseUrl, dataDir, isBare = false, mustWrite = false }: Where,
  log: Pick<Logger, "warn" | "info">,
  settings?: Settings,
): Promise<Database> {
  if (!databaseUrl) {
    close(dataDir, log);
    return startEmbedded(dataDir, { log, isBare });
  }
  const db = connectDatabase(databaseUrl, settings);
  const stop = () => db.$client.end({ timeout: 5 });
  try {
    const missing = await waitFor(db, log, mustWrite);
    if (missing.length > 0) throw new Error(`${LOST} ${missing.join(", ")}.`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { db, stop };
}

/** Makes the partitions that are due; returns their names. */
type MakePartitions = (sql: Pool) => Promise<string[]>;

/** As `reachDatabase`, with every migration applied. Rejects with a ConfigError where the keys of SECRETS_KEY are not the database's. */
export async function openDatabase(config: Opened, log: Pick<Logger, "warn" | "info">, makePartitions: MakePartitions = async () => []): Promise<Database> {
  close(config.dataDir, log); // it may hold objects without holding the database
  const first = await reachDatabase({ ...config, mustWrite: true }, log, MAINTENANCE);
  try {
    const migrations = await migrate(first.db.$client, log);
    const partitions = await makePartitions(first.db.$client);
    if (migrations.length + partitions.length > 0) log.info({ migrations, partitions }, "database migrated");
    const wrongKeys = await checkKeys(first.db.$client, config.keyring);
    if (wrongKeys) throw new ConfigError([wrongKeys]);
  } catch (error) {
    await first.stop();
    throw error;
  }
  if (!config.databaseUrl) return first;
  await first.stop();
  return reachDatabase(config, log, forRequests(config.requestTimeout));
}

function close(dataDir: string, log: Pick<Logger, "warn">) {
  try {
    closeDirectory(dataDir, log);
  } catch (error) {
    throw new ConfigError([(error as Error).message]);
  }
}

const LOST =
  "The sessions of DATABASE_URL do not keep what certitude sets at their start, most likely because a pooler drops it. Connect to Postgres itself, or give the role these settings (ALTER ROLE … SET):";

const TAKES_NO_WRITES =
  "it takes no writes. Where it is a standby, name the primary, or all servers and target_session_attrs=read-write; else take default_transaction_read_only back";

/** Names what the sessions lack, once there is one. */
async function waitFor(db: Db, log: Pick<Logger, "warn">, mustWrite: boolean) {
  const deadline = performance.now() + CONNECT_TIMEOUT_MS;
  for (let pause = 250; ; pause = Math.min(pause * 2, 4_000)) {
    try {
      const missing = await missingParameters(db.$client);
      if (mustWrite && db.$client.isReadOnly()) throw failure(READ_ONLY, TAKES_NO_WRITES);
      return missing;
    } catch (error) {
      const left = deadline - performance.now();
      if (!isDatabaseAway(error) || left <= 0) throw new Error(`The database of DATABASE_URL cannot be reached: ${(error as Error).message}`, { cause: error });
      log.warn({ reason: (error as Error).message }, "database unavailable, retrying");
      await Bun.sleep(Math.min(pause, left));
    }
  }
}
