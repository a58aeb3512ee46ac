import type { Logger } from "pino";
import type { Config } from "../config";
import { connectDatabase, type Db, isDatabaseAway, PATIENT, type Settings } from "./connect";
import { startEmbedded } from "./embedded";
import { migrate } from "./migrate";

const PATIENCE = 30_000;

export type Database = { db: Db; stop: () => Promise<void> };

type Where = Pick<Config, "databaseUrl" | "dataDir">;

/** The database of the configuration, reachable: DATABASE_URL, tried for 30 s, or the embedded one. */
export async function reachDatabase({ databaseUrl, dataDir }: Where, log: Pick<Logger, "warn">, settings?: Settings): Promise<Database> {
  if (!databaseUrl) return startEmbedded(dataDir);
  const db = connectDatabase(databaseUrl, settings);
  const stop = () => db.$client.end({ timeout: 5 });
  try {
    await waitFor(db, log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { db, stop };
}

/** As `reachDatabase`, with every migration applied. */
export async function openDatabase(config: Where, log: Pick<Logger, "warn" | "info">): Promise<Database> {
  const first = await reachDatabase(config, log, PATIENT);
  for (const name of await migrate(first.db.$client)) log.info({ migration: name }, "migrated");
  if (!config.databaseUrl) return first;
  await first.stop();
  return reachDatabase(config, log);
}

async function waitFor(db: Db, log: Pick<Logger, "warn">) {
  const deadline = performance.now() + PATIENCE;
  for (let pause = 250; ; pause = Math.min(pause * 2, 4_000)) {
    try {
      await db.$client`select 1`;
      return;
    } catch (error) {
      const left = deadline - performance.now();
      if (!isDatabaseAway(error) || left <= 0) throw new Error(`The database of DATABASE_URL cannot be reached: ${(error as Error).message}`, { cause: error });
      log.warn({ reason: (error as Error).message }, "the database is away, trying again");
      await Bun.sleep(Math.min(pause, left));
    }
  }
}
