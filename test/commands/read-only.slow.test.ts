import { expect, setDefaultTimeout } from "bun:test";
import { needing } from "../support/needing";
import { endServers as endClusters } from "../support/pki/tls-servers";
import { call } from "../support/server/call";
import { type Cluster, startPrimary, startStandby } from "../support/server/clusters";
import { endServers, newDirectory, run, serve } from "../support/server/program";
import { environment } from "../support/server/world";

const { afterAll, afterEach, beforeAll, describe, test } = needing("pg_ctlcluster");

setDefaultTimeout(300_000);

const { JWT_SECRET, SECRETS_KEY } = environment;
const place = newDirectory();
const on = (DATABASE_URL: string) => ({ ...place.env, JWT_SECRET, SECRETS_KEY, DATABASE_URL });
let primary: Cluster;
let standby: Cluster;

beforeAll(async () => {
  primary = await startPrimary();
  expect(await run(["migrate"], on(primary.url))).toMatchObject({ code: 0 });
  standby = await startStandby(primary);
});
afterEach(endServers);
afterAll(async () => {
  await standby.remove();
  await primary.remove();
  endClusters();
  await place.remove();
});

/** What doctor says of the database. */
async function examine(url: string) {
  const { out } = await run(["doctor", "--json"], on(url));
  const { state, message } = JSON.parse(out).find(({ part }: { part: string }) => part === "database");
  return { state, message };
}
const close = () => primary.ask("alter database postgres set default_transaction_read_only = on");
const open = () => primary.ask("set transaction read write; alter database postgres reset default_transaction_read_only");

describe("certitude doctor", () => {
  test("fails on a standby, and says how DATABASE_URL finds the primary", async () => {
    expect(await examine(standby.url)).toEqual({
      state: "failed",
      message:
        "The database postgres is on a standby, which takes no writes. Point DATABASE_URL at the primary, or at all servers with target_session_attrs=read-write.",
    });
    const all = `postgres://postgres@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/postgres?target_session_attrs=read-write`;
    expect(await examine(all)).toMatchObject({ state: "ok" });
  });

  test("warns of several servers of which the first that answers is taken", async () => {
    const url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres`;
    expect(await examine(url)).toMatchObject({ state: "warning", message: expect.stringContaining("with target_session_attrs=read-write the one is found") });
  });

  test("fails on a database that is closed to writes, and says how to open it", async () => {
    await close();
    expect(await examine(primary.url)).toMatchObject({ state: "failed", message: expect.stringContaining("default_transaction_read_only is on") });
    await open();
    expect(await examine(primary.url)).toMatchObject({ state: "ok" });
  });
});

describe("certitude serve", () => {
  test("waits for a database that takes no writes, says why, and serves once it takes them", async () => {
    await close();
    const server = serve(on(primary.url));
    expect(JSON.parse(await server.says("database unavailable, retrying"))).toMatchObject({ level: 40, reason: expect.stringContaining("it takes no writes") });
    await open();
    expect(await call("GET", "/health/ready", { url: await server.url() })).toMatchObject({ status: 200 });
    expect(await server.exit("SIGTERM")).toMatchObject({ code: 0 });
  });
});
