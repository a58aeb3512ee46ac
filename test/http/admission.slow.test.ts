import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { MAINTENANCE } from "#db/connect";
import { migrate } from "#db/migrate";
import { call } from "../support/server/call";
import { sign } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";
import { openRaw, sendRaw } from "../support/server/raw";
import { figures, sum } from "../support/server/workers";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

const CROWDED = { message: "The server has more requests than it can answer. Try again in a moment." };
/** Statements that may wait before requests are refused. */
const PLACES = 1_000;

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let server: ReturnType<typeof startServer>;
let headers: Record<string, string>;

beforeAll(async () => {
  postgres = await startPostgres();
  const db = connectTo(postgres.url, MAINTENANCE);
  await migrate(db.$client);
  await db.$client.end();
  proxy = await startProxy(targetOf(postgres.url));
  server = startServer(world.config, { db: connectTo(viaPort(postgres.url, proxy.port), { silence: 0, statementTimeout: 0 }) });
  headers = { authorization: `Bearer ${await sign({ sub: crypto.randomUUID() })}` };
  await ask();
});
afterAll(async () => {
  await server.server.stop(true);
  await server.sql.end({ timeout: 1 });
  await proxy.stop();
  await postgres.stop();
});

const ask = () => call("GET", "/users/me", { url: server.url, headers });
/** A request on a connection of its own: `fetch` would have 256 of them at most. */
const stranger = (index: number) => sendRaw(`GET /.well-known/acme-challenge/token-of-nobody-${index} HTTP/1.1\r\nHost: localhost\r\n\r\n`, server.url);

test("503 with Retry-After for a request while a thousand statements wait, and an answer for each that was let in", async () => {
  proxy.freeze();
  const crowd = Array.from({ length: PLACES }, (_, index) => stranger(index));
  while (server.sql.demand() < PLACES) await Bun.sleep(10);
  const refused = await ask();
  expect(refused).toMatchObject({ status: 503, body: CROWDED });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await stranger(PLACES)).status).toBe(503);
  expect(server.sql.demand()).toBe(PLACES);

  expect(await call("GET", "/health/live", { url: server.url })).toMatchObject({ status: 200 });
  const looks = await Promise.all(Array.from({ length: 50 }, () => call("GET", "/health/ready", { url: server.url })));
  expect(new Set(looks.map(({ status }) => status))).toEqual(new Set([503]));
  expect(server.sql.demand()).toBe(PLACES + 2); // one look for all: at the jobs, and at the clock
  expect((await fetch(`${server.url}/console/`)).status).toBe(200);
  const job = server.sql<{ one: number }[]>`select 1 as one`.then((rows) => rows);

  proxy.thaw();
  expect(new Set((await Promise.all(crowd)).map(({ status }) => status))).toEqual(new Set([404]));
  expect(await job).toMatchObject([{ one: 1 }]);
  expect(await ask()).toMatchObject({ status: 200 });
});

test("503 for a request whose body arrives when a crowd has come", async () => {
  const body = "not a request of OCSP";
  const slow = await openRaw(server.url);
  slow.write(
    `POST /pki/${crypto.randomUUID()}/ocsp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/ocsp-request\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  while (sum(await figures(server.url, "certitude_http_requests_in_flight")) < 2) await Bun.sleep(10);
  proxy.freeze();
  const crowd = Array.from({ length: PLACES }, (_, index) => stranger(index));
  while (server.sql.demand() < PLACES) await Bun.sleep(10);
  slow.write(body);
  expect((await slow.answer()).status).toBe(503);
  proxy.thaw();
  await Promise.all(crowd);
  slow.close();
});
