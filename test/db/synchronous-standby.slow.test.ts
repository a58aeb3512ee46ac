import { expect, setDefaultTimeout } from "bun:test";
import { connectDatabase, type Db } from "#db/connect";
import { isDatabaseAway } from "#db/failures";
import { needing } from "../support/needing";
import { endServers } from "../support/pki/tls-servers";
import { type Cluster, startPrimary } from "../support/server/clusters";

const { afterAll, beforeAll, test } = needing("pg_ctlcluster");

setDefaultTimeout(300_000);

/** Postgres lets in twelve, of whom three must be superusers: one more than two servers have connections. */
const SETTINGS = ["max_connections=12", "superuser_reserved_connections=3"];
const EACH = 4;

let cluster: Cluster;
const pools: Db[] = [];
beforeAll(async () => {
  cluster = await startPrimary(...SETTINGS);
  await cluster.ask("create table written (number integer); create role writer login; grant all on written to writer");
  await cluster.ask("create role dba login");
});
afterAll(async () => {
  await cluster.remove();
  endServers();
});

const as = (user: string) => Object.assign(new URL(cluster.url), { username: user }).href;

/** A server's pool: a statement that waits for a standby is cut short by nothing but the watch for silence. */
function newPool() {
  const pool = connectDatabase(as("writer"), { max: EACH, statementTimeout: 400, silence: 500 });
  pools.push(pool);
  return pool;
}

const setStandbys = async (names: string) => {
  await cluster.ask(`alter system set synchronous_standby_names = '${names}'`);
  await cluster.ask("select pg_reload_conf()");
  for (;;) {
    const [row] = await cluster.ask<{ names: string }>("select current_setting('synchronous_standby_names') as names");
    if (row?.names === names) return;
  }
};

const countWriters = async () => {
  const [row] = await cluster.ask<{ count: number }>("select count(*)::int as count from pg_stat_activity where usename = 'writer'");
  return row?.count ?? 0;
};

test("while a synchronous standby is away writers take no more connections than they have, and the DBA gets in", async () => {
  await setStandbys("away");
  let failures = 0;
  const counts: number[] = [];
  const write = async ({ $client: sql }: Db) => {
    while (failures < 20 * EACH) {
      const failure = await sql`insert into written values (${failures})`.then(
        () => undefined,
        (error: Error) => error,
      );
      if (failure) {
        expect(isDatabaseAway(failure)).toBe(true);
        expect(failure.message).not.toContain("too many");
        failures++;
      }
    }
  };
  const writing = [newPool(), newPool()].flatMap((pool) => Array.from({ length: EACH }, () => write(pool)));
  const watch = async () => {
    while (failures < 20 * EACH) {
      counts.push(await countWriters());
      const { $client: dba } = connectDatabase(as("dba"), { max: 1 });
      await dba`select 1`;
      await dba.end();
    }
  };
  await Promise.all([...writing, watch()]);
  expect(Math.max(...counts)).toBeGreaterThan(EACH);
  expect(Math.max(...counts)).toBeLessThanOrEqual(2 * EACH);
});

test("what was cancelled is written all the same: its outcome was unknown, and is not acknowledged", async () => {
  const [row] = await cluster.ask<{ count: number }>("select count(*)::int as count from written");
  expect(row?.count).toBeGreaterThan(0);
});

test("a server that stops meanwhile leaves no session behind", async () => {
  const { $client: sql } = connectDatabase(as("writer"), { max: 2, statementTimeout: 0, silence: 600_000 });
  await Promise.all(pools.splice(0).map(({ $client }) => $client.end({ timeout: 1 })));
  const failure = sql`insert into written values (-1)`.then(
    () => undefined,
    (error: Error) => error,
  );
  const waiting = "select from pg_stat_activity where wait_event = 'SyncRep' and usename = 'writer'";
  while ((await cluster.ask(waiting)).length !== 1);
  await sql.end({ timeout: 0 });
  expect(isDatabaseAway(await failure)).toBe(true);
  while ((await countWriters()) > 0);
});

test("once the standby is not waited for any more, every connection works again", async () => {
  const pool = newPool();
  await setStandbys("");
  const writes = Array.from({ length: 5 * EACH }, (_, number) => pool.$client`insert into written values (${1_000_000 + number})`);
  await Promise.all(writes);
  expect(await countWriters()).toBeLessThanOrEqual(EACH);
  await pool.$client.end();
});
