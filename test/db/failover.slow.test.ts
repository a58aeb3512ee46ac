import { expect, setDefaultTimeout } from "bun:test";
import { connectDatabase } from "#db/connect";
import { migrate } from "#db/migrate";
import { needing } from "../support/needing";
import { endServers } from "../support/pki/tls-servers";
import { call } from "../support/server/call";
import { bringBack, type Cluster, startPrimary, startStandby } from "../support/server/clusters";
import { sign } from "../support/server/people";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";
import { startServer, world } from "../support/server/world";

const { afterAll, beforeAll, describe, test } = needing("pg_ctlcluster");

setDefaultTimeout(300_000);

const TAKES_NO_WRITES = "The database takes no writes: it is a standby, or closed to them.";

/** Each test has a primary and a standby of its own, and leaves them as it likes. */
async function startPair() {
  const primary = await startPrimary();
  const { $client: sql } = connectDatabase(primary.url, { max: 1, statementTimeout: 0, silence: 0 });
  await migrate(sql);
  await sql.end();
  return { primary, standby: await startStandby(primary) };
}
const clusters: Cluster[] = [];
async function newPair() {
  const pair = await startPair();
  clusters.push(pair.primary, pair.standby);
  return pair;
}
afterAll(async () => {
  for (const each of clusters) await each.remove();
  endServers();
});

const both = (one: Cluster, other: Cluster, attributes = "") => `postgres://postgres@127.0.0.1:${one.port},127.0.0.1:${other.port}/postgres${attributes}`;

/** A server on the database of `url`, a write, and what its readiness says. */
async function startOn(url: string) {
  const db = connectDatabase(url, { max: 4, statementTimeout: 4_500, silence: 5_500 });
  const server = startServer({ ...world.config, requestTimeout: 5_000 }, { db });
  const headers = { authorization: `Bearer ${await sign({ sub: crypto.randomUUID() })}` };
  const write = () => call("PATCH", "/users/me/profile", { url: server.url, headers, body: { displayName: "Ada" } });
  const ready = () => call("GET", "/health/ready", { url: server.url });
  async function stop() {
    await server.server.stop(true);
    await server.sql.end({ timeout: 1 });
  }
  return { ...server, write, ready, stop };
}

/** Writes until one is taken; what comes before it is 503. */
async function untilWritten(write: () => ReturnType<typeof call>) {
  for (let status = 503; status === 503; ) {
    status = (await write()).status;
    expect(status).toBeOneOf([200, 503]);
  }
}

const portsOf = async (url: string, count = 1) => {
  const { $client: sql } = connectDatabase(url, { max: count });
  const rows = await Promise.all(Array.from({ length: count }, () => sql<{ port: number }[]>`select inet_server_port() as port, pg_sleep(0.05)`));
  await sql.end();
  return rows.map(([row]) => row?.port);
};

describe("several servers", () => {
  let pair: Awaited<ReturnType<typeof newPair>>;
  let [primary, standby] = [0, 0];
  beforeAll(async () => {
    pair = await newPair();
    [primary, standby] = [pair.primary.port, pair.standby.port];
  });

  test.each([
    ["any", "standby"],
    ["read-write", "primary"],
    ["primary", "primary"],
    ["read-only", "standby"],
    ["standby", "standby"],
    ["prefer-standby", "standby"],
  ])("with target_session_attrs=%s the %s is taken, whichever stands first", async (attributes, expected) => {
    const port = { primary, standby }[expected];
    expect(await portsOf(both(pair.standby, pair.primary, `?target_session_attrs=${attributes}`), 3)).toEqual([port, port, port]);
    if (attributes !== "any") expect(await portsOf(both(pair.primary, pair.standby, `?target_session_attrs=${attributes}`), 3)).toEqual([port, port, port]);
  });

  test("prefer-standby takes the primary where there is no standby", async () => {
    expect(await portsOf(`${pair.primary.url}?target_session_attrs=prefer-standby`)).toEqual([primary]);
    expect(await portsOf(`postgres://postgres@127.0.0.1:1,127.0.0.1:${primary}/postgres?target_session_attrs=prefer-standby`)).toEqual([primary]);
  });

  test("one that lets nobody in yet is passed over", async () => {
    const starting = await startStandby(pair.primary, { settings: ["hot_standby=off"], word: "entering standby mode" });
    clusters.push(starting);
    expect(await portsOf(both(starting, pair.primary))).toEqual([primary]);
    expect(portsOf(starting.url)).rejects.toMatchObject({ code: "57P03" });
  });

  test("one that refuses is passed over", async () => {
    expect(await portsOf(`postgres://postgres@127.0.0.1:1,127.0.0.1:${primary}/postgres`)).toEqual([primary]);
  });

  test("where none will do, the error names each, and why", async () => {
    const { $client: sql } = connectDatabase(`postgres://postgres@127.0.0.1:1,127.0.0.1:${standby}/postgres?target_session_attrs=read-write`, { max: 1 });
    const failure = await sql`select 1`.then(
      () => undefined,
      (error: Error & { code?: string }) => error,
    );
    expect(failure?.code).toBe("CONNECTION_FAILED");
    expect(failure?.message).toMatch(/ECONNREFUSED.*; 127\.0\.0\.1:\d+ is not what target_session_attrs asks for: it is a standby$/);
    await sql.end();
  });
});

describe("a failover", () => {
  test("is followed among several servers, also when the former primary comes back as a standby", async () => {
    const { primary, standby } = await newPair();
    const server = await startOn(both(primary, standby, "?target_session_attrs=read-write"));
    expect(await server.write()).toMatchObject({ status: 200 });
    await primary.crash();
    await standby.promote();
    await untilWritten(server.write);
    await bringBack(primary, standby);
    for (let count = 0; count < 20; count++) expect(await server.write()).toMatchObject({ status: 200 });
    expect(await server.ready()).toMatchObject({ status: 200 });
    await server.stop();
  });

  test("of an address: sessions with a former primary that takes no writes are replaced once it moves on", async () => {
    const { primary, standby } = await newPair();
    const address = await startProxy(targetOf(primary.url));
    const server = await startOn(viaPort(primary.url, address.port));
    expect(await server.write()).toMatchObject({ status: 200 });
    await primary.crash();
    await standby.promote();
    await bringBack(primary, standby);
    for (let isBack = false; !isBack; ) {
      expect((await server.write()).status).toBe(503);
      const { status, body } = await server.ready();
      expect(status).toBe(503);
      isBack = body.message === TAKES_NO_WRITES;
    }
    address.moveTo(targetOf(standby.url));
    await untilWritten(server.write);
    for (let isReady = false; !isReady; ) isReady = (await server.ready()).status === 200;
    await server.stop();
    await address.stop();
  });
});

describe("a database that is closed to writes", () => {
  test("503 for what writes and for readiness while it is, 200 soon after", async () => {
    const { primary } = await newPair();
    await primary.ask("alter database postgres set default_transaction_read_only = on");
    const server = await startOn(primary.url);
    expect(await server.write()).toMatchObject({ status: 503 });
    expect(await server.ready()).toMatchObject({ status: 503, body: { message: TAKES_NO_WRITES } });
    await Promise.all(Array.from({ length: 8 }, server.write)); // on every connection
    await primary.ask("set transaction read write; alter database postgres reset default_transaction_read_only");
    for (let taken = 0; taken < 50; ) {
      const answers = await Promise.all(Array.from({ length: 8 }, server.write));
      taken = answers.every(({ status }) => status === 200) ? taken + 1 : 0;
    }
    expect(await server.ready()).toMatchObject({ status: 200 });
    await server.stop();
  });
});
