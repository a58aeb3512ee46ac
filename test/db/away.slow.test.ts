import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { MAINTENANCE } from "#db/connect";
import { isDatabaseAway } from "#db/failures";
import { migrate } from "#db/migrate";
import { reachDatabase } from "#db/open";
import { createLog } from "#log/log";
import { call } from "../support/server/call";
import { sign } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

const AWAY = { message: "The database is away or too slow. Try again in a moment." };

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let url: string;

beforeAll(async () => {
  postgres = await startPostgres();
  const db = connectTo(postgres.url, MAINTENANCE);
  await migrate(db.$client);
  await db.$client.end();
  proxy = await startProxy(targetOf(postgres.url));
  url = viaPort(postgres.url, proxy.port);
});
afterAll(async () => {
  await proxy.stop();
  await postgres.stop();
});
beforeEach(() => proxy.thaw());

const failureOf = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => undefined,
    (error: Error) => error,
  );

describe("a server whose database is away", () => {
  const lines: string[] = [];
  let server: ReturnType<typeof startServer>;
  let headers: Record<string, string>;
  /** A connection that was silent may be thrown away while the first requests are on it: they are answered 503. */
  async function isBack() {
    for (let status = 503; status === 503; ) {
      status = (await ask()).status;
      expect(status).toBeOneOf([200, 503]);
    }
  }
  const ask = (more = {}) => call("GET", "/users/me", { url: server.url, headers: { ...headers, ...more } });

  beforeAll(async () => {
    const log = createLog("info", { write: (line) => void lines.push(line) });
    server = startServer({ ...world.config, requestTimeout: 5_000 }, { db: connectTo(url) }, undefined, log);
    headers = { authorization: `Bearer ${await sign({ sub: crypto.randomUUID() })}` };
    expect(await ask()).toMatchObject({ status: 200 });
  });
  afterAll(async () => {
    await server.server.stop(true);
    await server.sql.end({ timeout: 1 });
  });

  test("503 in time from a frozen one, and 200 once it thaws; it lives all the while, and is not ready", async () => {
    proxy.freeze();
    const asked = ask({ "x-request-id": "frozen-1" });
    const ready = call("GET", "/health/ready", { url: server.url });
    expect(await call("GET", "/health/live", { url: server.url })).toMatchObject({ status: 200 });
    expect(await ready).toMatchObject({ status: 503 });
    const answer = await asked;
    expect(answer).toMatchObject({ status: 503, body: { message: expect.any(String) } });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(answer.headers.get("x-request-id")).toBe("frozen-1");
    expect(lines.map((line) => JSON.parse(line)).find((line) => line.requestId === "frozen-1" && line.route)).toMatchObject({
      status: 503,
      route: "/users/me",
    });
    proxy.thaw();
    await isBack();
    expect(await call("GET", "/health/ready", { url: server.url })).toMatchObject({ status: 200 });
  });

  test("503 at once for a request whose connection is cut, and 200 for the next", async () => {
    await isBack(); // so that there is a connection
    const isAsked = proxy.mute();
    const asked = ask();
    await Promise.race([isAsked, asked]);
    proxy.cut();
    const answer = await asked;
    expect(answer).toMatchObject({ status: 503, body: AWAY });
    expect(answer.headers.get("retry-after")).toBe("1");
    proxy.thaw();
    expect(await ask()).toMatchObject({ status: 200 });
  });

  test("503 however often it is refused, and 200 once it is back", async () => {
    await proxy.refuse();
    for (let index = 0; index < 12; index++) expect(await ask()).toMatchObject({ status: 503, body: AWAY });
    expect(await call("GET", "/health/live", { url: server.url })).toMatchObject({ status: 200 });
    expect(await call("GET", "/health/ready", { url: server.url })).toMatchObject({ status: 503 });
    await proxy.accept();
    expect(await ask()).toMatchObject({ status: 200 });
    expect(await call("GET", "/health/ready", { url: server.url })).toMatchObject({ status: 200 });
  });
});

describe("connectDatabase", () => {
  test("throws a silent connection away and opens another", async () => {
    const db = connectTo(url, { silence: 2_000, max: 1 });
    await db.$client`select 1`;
    proxy.freezeOld();
    const failure = await failureOf(db.$client`select 1`);
    expect(failure).toMatchObject({ code: "CONNECTION_CLOSED" });
    expect(isDatabaseAway(failure)).toBe(true);
    await Bun.sleep(20);
    expect(await db.$client<{ one: number }[]>`select 1 as one`).toMatchObject([{ one: 1 }]);
    await db.$client.end();
  });

  test("survives a connection that is cut within a transaction", async () => {
    const db = connectTo(url, { max: 1 });
    const failure = await failureOf(
      db.$client.begin(async (tx) => {
        await tx`select 1`;
        proxy.cut();
        await Bun.sleep(50);
        await tx`select 2`;
      }),
    );
    expect(isDatabaseAway(failure)).toBe(true);
    for (let index = 0; index < 3; index++) expect(await db.$client<{ one: number }[]>`select 1 as one`).toMatchObject([{ one: 1 }]);
    await db.$client.end();
  });

  test("survives queries on connections that are cut all the time", async () => {
    const db = connectTo(url);
    for (let index = 0; index < 20; index++) {
      const asked = [failureOf(db.$client`select 1`), failureOf(db.$client`select 2`)];
      if (index % 3 !== 0) await Bun.sleep(index % 4);
      proxy.cut();
      for (const failure of await Promise.all(asked)) expect(failure === undefined || isDatabaseAway(failure)).toBe(true);
    }
    await Bun.sleep(200);
    for (let index = 0; index < 20; index++) await db.$client`select 1`;
    await db.$client.end();
  });

  test("fails, and does not try for ever, where a server hangs up at once", async () => {
    const db = connectTo(url, { max: 1 });
    proxy.hangUp();
    for (let index = 0; index < 3; index++) expect(isDatabaseAway(await failureOf(db.$client`select 1`))).toBe(true);
    proxy.thaw();
    await db.$client`select 1`;
    await db.$client.end();
  });

  test("names a server that takes connections and never answers, and says what to do", async () => {
    const mute = createServer(() => {}).listen(0, "127.0.0.1");
    await once(mute, "listening");
    const { port } = mute.address() as AddressInfo;
    const db = connectTo(`postgres://127.0.0.1:${port}/x?connect_timeout=2`, { max: 1 });
    const failure = await failureOf(db.$client`select 1`);
    expect(failure).toMatchObject({
      code: "CONNECT_TIMEOUT",
      message: `127.0.0.1:${port} takes connections, but did not answer within 2 s. See whether Postgres is overloaded or stands still there; connect_timeout of DATABASE_URL lets it take longer`,
    });
    expect(isDatabaseAway(failure)).toBe(true);
    await db.$client.end();
    mute.close();
  });

  test("keeps a connection that rests", async () => {
    const db = connectTo(url, { silence: 2_000, max: 1 });
    const [before] = await db.$client`select pg_backend_pid() as pid, ${"x".repeat(70_000)} as padding`;
    await Bun.sleep(3_000);
    const [after] = await db.$client`select pg_backend_pid() as pid`;
    expect(after?.pid).toBe(before?.pid);
    await db.$client.end();
  });

  test("waits for a statement as long as it takes, when it is asked to be patient", async () => {
    const db = connectTo(url, MAINTENANCE);
    await db.$client`select 1`;
    proxy.freeze();
    const asked = db.$client<{ one: number }[]>`select 1 as one`.then((rows) => rows);
    await Bun.sleep(700);
    proxy.thaw();
    expect(await asked).toMatchObject([{ one: 1 }]);
    await db.$client.end();
  });
});

describe("reachDatabase", () => {
  test("tries again until the database is there", async () => {
    await proxy.refuse();
    const said: string[] = [];
    const log = createLog("warn", { write: (line) => void said.push(JSON.parse(line).msg) });
    const reaching = reachDatabase({ databaseUrl: url, dataDir: "" }, log, MAINTENANCE);
    while (said.length < 2) await Bun.sleep(20);
    await proxy.accept();
    await (await reaching).stop();
    expect(said[0]).toBe("database unavailable, retrying");
  });

  test("says at once what waiting cannot mend", async () => {
    const wrong = `${url}${url.includes("?") ? "&" : "?"}sslmode=require`;
    const failure = await failureOf(reachDatabase({ databaseUrl: wrong, dataDir: "" }, createLog("silent")));
    expect(failure?.message).toBe("The database of DATABASE_URL cannot be reached: the server offers no TLS, and sslmode asks for it");
  });
});
