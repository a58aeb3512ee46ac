import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Config } from "./config";
import type { Db, Pool } from "./db/connect";
import { createTokens, type Tokens } from "./guards/tokens";
import { createMetrics, type Metrics } from "./http/metrics";
import { createQueue, type Queue } from "./jobs/queue";
import { createFeed, type Feed } from "./modules/notifications/feed";
import { createOrganizationLookup } from "./modules/organizations/queries";
import { createFileStore } from "./storage/files";
import type { ObjectStore } from "./storage/store";

/** What the program hands to routes and jobs. */
export type Deps = {
  config: Config;
  db: Db;
  sql: Pool;
  log: Logger;
  clock: () => Date;
  metrics: Metrics;
  feed: Feed;
  store: ObjectStore;
  queue: Queue;
  /** What this process shows as a worker: the first of WORKER_API_KEY or, where none is configured, a secret of its own. */
  workerKey: string;
  tokens: Tokens;
  organizationExists: (id: string) => Promise<boolean>;
};

export function createDeps({ config, db, log, clock = () => new Date() }: Pick<Deps, "config" | "db" | "log"> & { clock?: () => Date }): Deps {
  const sql = db.$client;
  return {
    config,
    db,
    sql,
    log,
    clock,
    metrics: createMetrics({ sql, clock }),
    feed: createFeed(sql, (error) => log.warn({ err: error }, "notices could not be looked for")),
    store: createFileStore(join(config.dataDir, "objects"), config.secretsKey),
    queue: createQueue({ sql, log }),
    workerKey: config.workerApiKeys[0] ?? randomBytes(32).toString("base64url"),
    tokens: createTokens({ config, sql, log, clock }),
    organizationExists: createOrganizationLookup(sql),
  };
}
