import type { Logger } from "pino";
import type { Config } from "./config";
import type { Db, Pool } from "./db/connect";
import { createTokens, type Tokens } from "./guards/tokens";
import { createMetrics, type Metrics } from "./http/metrics";
import { createFeed, type Feed } from "./modules/notifications/feed";
import { createOrganizationLookup } from "./modules/organizations/queries";

/** What the program hands to routes and jobs. */
export type Deps = {
  config: Config;
  db: Db;
  sql: Pool;
  log: Logger;
  clock: () => Date;
  metrics: Metrics;
  feed: Feed;
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
    tokens: createTokens({ config, sql, log, clock }),
    organizationExists: createOrganizationLookup(sql),
  };
}
