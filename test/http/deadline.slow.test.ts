import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { connectDatabase } from "#db/connect";
import { migrate } from "#db/migrate";
import { createDeadlines, whileArriving } from "#http/deadline";
import { needing } from "../support/needing";
import { endServers } from "../support/pki/tls-servers";
import { call } from "../support/server/call";
import { type Cluster, startPrimary } from "../support/server/clusters";
import { sign } from "../support/server/people";
import { openRaw } from "../support/server/raw";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

const LATE = { message: "The server took too long, most likely because the database is away. Try again in a moment." };
const LIMIT_MS = 2_000;

needing("pg_ctlcluster").describe("a server whose Postgres stands still", () => {
  let cluster: Cluster;
  let server: ReturnType<typeof startServer>;
  let headers: Record<string, string>;
  /** A user whom the server does not know yet, so that its guard asks the database. */
  const newHeaders = async () => ({ authorization: `Bearer ${await sign({ sub: crypto.randomUUID() })}` });
  beforeAll(async () => {
    cluster = await startPrimary();
    const { $client: sql } = connectDatabase(cluster.url, { max: 1, statementTimeout: 0, silence: 0 });
    await migrate(sql);
    await sql.end();
    // The watch for silence stays out of it: the deadline alone answers.
    server = startServer({ ...world.config, requestTimeout: LIMIT_MS }, { db: connectDatabase(cluster.url, { max: 4, silence: 60_000 }) });
    headers = await newHeaders();
    expect(await call("GET", "/users/me", { url: server.url, headers })).toMatchObject({ status: 200 });
  });
  afterAll(async () => {
    await server.server.stop(true);
    await server.sql.end({ timeout: 0 });
    await cluster.remove();
    endServers();
  });

  test("503 for what has a body no later than for what has none and came after it", async () => {
    const users = await Promise.all(Array.from({ length: 30 }, newHeaders));
    cluster.freeze();
    let answered = 0;
    const writes = users.map(async (headers) => {
      const answer = await call("PATCH", "/users/me/profile", { url: server.url, headers, body: { displayName: "Ada" } });
      answered++;
      return answer;
    });
    while (server.sql.demand() === 0) await Bun.sleep(10);
    await Bun.sleep(LIMIT_MS / 4);
    expect(await call("GET", "/users/me", { url: server.url, headers })).toMatchObject({ status: 503, body: LATE });
    expect(answered).toBe(30);
    for (const answer of await Promise.all(writes)) expect(answer).toMatchObject({ status: 503, body: LATE });
    cluster.thaw();
    for (let status = 503; status === 503; ) {
      status = (await call("PATCH", "/users/me/profile", { url: server.url, headers, body: { displayName: "Ada" } })).status;
      expect(status).toBeOneOf([200, 503]);
    }
  });

  test.each([
    [
      200,
      "a user's",
      () => `PATCH /users/me/profile HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${headers.authorization}\r\nContent-Type: application/json\r\n`,
    ],
    [404, "a stranger's", () => `POST /pki/${crypto.randomUUID()}/ocsp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/ocsp-request\r\n`],
  ])("%d for %s body that takes longer to arrive than a request may take", async (status, _, head) => {
    const connection = await openRaw(server.url);
    const body = '{"displayName":"Slow"}';
    connection.write(`${head()}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    await Bun.sleep(1.5 * LIMIT_MS);
    expect(connection.received()).toBe("");
    connection.write(body.slice(5));
    expect((await connection.answer()).status).toBe(status);
    connection.close();
  });
});

describe("a deadline", () => {
  const [limit, within, beyond] = [1_000, 300, 800];
  const late = () => new Response("late");
  const newRequest = () => new Request("http://localhost/", { method: "POST", headers: { "content-length": "1" } });
  /** What takes `own` ms before its body arrives, which takes twice the limit, and `own` ms after it. */
  async function handle(request: Request, own: number) {
    await Bun.sleep(own);
    await whileArriving(request, () => Bun.sleep(2 * limit));
    await Bun.sleep(own);
    return new Response("in time");
  }
  const answerOf = async (own: number) => {
    const request = newRequest();
    return (await createDeadlines(limit)(request, () => handle(request, own), late)).text();
  };

  test("counts what is done before the body and after it, and not the time in which it arrives", async () => {
    expect(await Promise.all([answerOf(within), answerOf(beyond)])).toEqual(["in time", "late"]);
  });
});
