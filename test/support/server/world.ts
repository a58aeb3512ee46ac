import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "#app";
import { type Config, readConfig } from "#config";
import { connectDatabase } from "#db/connect";
import { type Database, openDatabase } from "#db/open";
import { packOnce } from "#db/pack-template";
import { createDeps } from "#deps";
import { listen } from "#http/listen";
import { createLog, type Log } from "#log/log";

export const JWT_SECRET = "a secret of the tests, long enough to sign";
export const WORKER_KEY = "a worker key of the tests that is long enough";

const silent = createLog("silent");

/** The environment of every test server; DATABASE_URL is added where the tests run on a real Postgres. */
export const environment = {
  JWT_SECRET,
  WORKER_API_KEY: WORKER_KEY,
  SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
  PLATFORM_STAFF_DOMAINS: "certitude.example",
  TRUSTED_GATEWAYS: "127.0.0.1/32, ::1/128",
  LOG_LEVEL: "silent",
  RATE_LIMITS: "user=1000000/60,api-token=1000000/60,agent=1000000/60,ingest-key=1000000/60,gateway=10000000/60,address=1000000/60",
  REQUEST_TIMEOUT: "60", // a busy machine is no fault of what is tested
  PORT: "0",
};

/** One database and one listening server for the whole run; each test makes its own organization in it. */
async function startWorld() {
  await packOnce(); // every embedded database of the tests, and of the programs that they start, is a copy
  const directory = mkdtempSync(join(tmpdir(), "certitude-test-"));
  const scratch = Bun.env.TEST_DATABASE_URL ? await createScratchDatabase(Bun.env.TEST_DATABASE_URL) : undefined;
  const config = readConfig({ ...environment, DATA_DIR: directory, DATABASE_URL: scratch?.url });
  const database = await openDatabase(config, silent);
  const main = startServer(config, database);
  return {
    ...main,
    config,
    database,
    directory,
    async stop() {
      await main.server.stop(true);
      await database.stop();
      for (const drop of scratches) await drop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A server on a database that is there already: another replica, or one with another configuration or clock. */
export function startServer(config: Config, { db }: Pick<Database, "db">, clock?: () => Date, log: Log = silent) {
  const deps = createDeps({ config, db, log, ...(clock && { clock, now: () => clock().getTime() }) });
  const app = createApp(deps);
  const server = listen(app, deps);
  return { deps, sql: deps.sql, app, server, url: server.url.href.replace(/\/$/, "") };
}

/** Drops each scratch database that is there. */
const scratches = new Set<() => Promise<void>>();

/** An empty database of its own on the server of `adminUrl`. */
export async function createScratchDatabase(adminUrl: string) {
  const name = `certitude_test_${crypto.randomUUID().replaceAll("-", "")}`;
  const admin = connectDatabase(adminUrl, { max: 1, statementTimeout: 60_000, silence: 60_000 });
  await admin.$client.unsafe(`create database ${name}`);
  await admin.$client.unsafe(`alter database ${name} set synchronous_commit = off`); // a commit that waits for the disk takes most of a test's time
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  async function drop() {
    scratches.delete(drop);
    await admin.$client.unsafe(`drop database ${name} with (force)`);
    await admin.$client.end();
  }
  scratches.add(drop);
  return { url: url.href, drop };
}

export const world = await startWorld();
