import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { MAINTENANCE } from "#db/connect";
import { migrate } from "#db/migrate";
import { createLog } from "#log/log";
import { call } from "../support/server/call";
import { newUser } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { openRaw, sendRaw } from "../support/server/raw";
import { startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

describe("a path", () => {
  test.each(["/nothing", "/nothing/", "/organizations", "/users/me/profile/more", "/health/live.json", "/%00"])("404 %s is unknown", async (path) => {
    const body = { message: "There is nothing at this path. GET /swagger lists every operation." };
    expect(await call("GET", path)).toMatchObject({ status: 404, body });
  });

  test.each(["//health/live", "/health//live", "/health/%6cive", "/HEALTH/live"])("404 %s is not tidied up", async (path) => {
    expect(await sendRaw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)).toMatchObject({ status: 404 });
  });

  test.each([
    ["POST", "/health/live", "GET, HEAD"],
    ["OPTIONS", "/health/live", "GET, HEAD"],
    ["DELETE", "/swagger/json", "GET, HEAD"],
    ["GET", "/users/me/profile", "PATCH"],
    ["PUT", `/organizations/${crypto.randomUUID()}/certificates`, "POST, GET, HEAD"],
  ])("405 %s %s is known with %s", async (method, path, allow) => {
    const answer = await call(method, path);
    expect(answer).toMatchObject({ status: 405, body: { message: `This path answers ${allow}, not ${method}.` } });
    expect(answer.headers.get("allow")).toBe(allow);
  });

  test("HEAD answers as GET does, without the body", async () => {
    const { token } = await newUser();
    for (const path of ["/health/live", "/users/me", "/swagger/json", "/nothing"]) {
      const [head, get] = await Promise.all([call("HEAD", path, { token }), call("GET", path, { token })]);
      expect(head).toMatchObject({ status: get.status, text: "" });
      expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
    }
    expect(await call("HEAD", "/users/me")).toMatchObject({ status: 401, text: "" });
    expect(await call("HEAD", "/users/me/profile")).toMatchObject({ status: 405, text: "" });
  });
});

describe("x-request-id", () => {
  const idOf = async (method: string, path: string, id?: string, raw?: string) =>
    (
      await call(method, path, { headers: { ...(id !== undefined && { "x-request-id": id }), "content-type": "application/json" }, ...(raw && { raw }) })
    ).headers.get("x-request-id");

  test.each(["a", "trace-1:2.3_4", "0193b3c0-0000-7000-8000-000000000001", "x".repeat(100)])("%s comes back", async (id) => {
    expect(await idOf("GET", "/health/live", id)).toBe(id);
  });

  test.each(["x".repeat(101), "a b", "<script>", "a,b", "ä", '"', "{}", "a/b"])("%s is replaced", async (id) => {
    expect(await idOf("GET", "/health/live", id)).toMatch(UUID);
  });

  test("is new where none was sent, each time", async () => {
    const ids = await Promise.all([1, 2, 3].map(() => idOf("GET", "/health/live")));
    for (const id of ids) expect(id).toMatch(UUID);
    expect(new Set(ids).size).toBe(3);
  });

  test("is on 401, 404, 405, 413 and 415 too", async () => {
    const { token } = await newUser();
    const refusals: [number, string, string, object][] = [
      [401, "GET", "/users/me", {}],
      [404, "GET", "/nothing", {}],
      [405, "DELETE", "/users/me", {}],
      [413, "PATCH", "/users/me/profile", { token, raw: "x".repeat(2_000_000) }],
      [415, "PATCH", "/users/me/profile", { token, raw: "x", headers: { "content-type": "text/plain" } }],
    ];
    for (const [status, method, path, wish] of refusals) {
      const headers = { "x-request-id": `request-${status}`, ...("headers" in wish ? (wish.headers as object) : {}) };
      const answer = await call(method, path, { ...wish, headers });
      expect([answer.status, answer.headers.get("x-request-id")]).toEqual([status, `request-${status}`]);
    }
  });
});

describe("a body of gigabytes", () => {
  const announce = (method: string, path: string, headers: string[] = []) =>
    sendRaw([`${method} ${path} HTTP/1.1`, "Host: localhost", "Content-Type: application/json", "Content-Length: 9999999999", ...headers, "", ""].join("\r\n"));

  test("401 for a stranger, before it is sent", async () => {
    const { status, body, headers } = await announce("PATCH", "/users/me/profile");
    expect([status, body]).toEqual([401, ""]);
    expect(headers.get("x-request-id")).toMatch(UUID);
  });

  test("413 in words for a user, before it is sent", async () => {
    const { token } = await newUser();
    const { status, body, headers } = await announce("PATCH", "/users/me/profile", [`Authorization: Bearer ${token}`]);
    expect([status, JSON.parse(body)]).toEqual([413, { message: "The body is larger than 1 MiB." }]);
    expect(headers.get("x-request-id")).toMatch(UUID);
  });
});

describe("what is not HTTP", () => {
  test.each([
    "garbage\r\n\r\n",
    "GET\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    `GET /${"x".repeat(100_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  ])("leaves the server alive: %#", async (text) => {
    const connection = await openRaw();
    connection.write(text);
    await Bun.sleep(50);
    connection.close();
    expect(await call("GET", "/health/live")).toMatchObject({ status: 200 });
  });
});

describe("a failure that nobody foresaw", () => {
  let postgres: Awaited<ReturnType<typeof startPostgres>>;
  let server: ReturnType<typeof startServer>;
  const lines: string[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    const db = connectTo(postgres.url, MAINTENANCE);
    await migrate(db.$client);
    await db.$client`alter table users rename to people`;
    server = startServer(world.config, { db }, undefined, createLog("info", { write: (line) => void lines.push(line) }));
  });
  afterAll(async () => {
    await server.server.stop(true);
    await server.sql.end();
    await postgres.stop();
  });

  test("500 is answered with a request id alone, and logged in full", async () => {
    const { token, email } = await newUser();
    const answer = await call("GET", "/users/me", { url: server.url, token, headers: { "x-request-id": "broken-1" } });
    expect(answer).toMatchObject({ status: 500, body: { message: "The server failed. Its log has the details under this request id." } });
    expect(answer.headers.get("x-request-id")).toBe("broken-1");
    const logged = lines.map((line) => JSON.parse(line)).find((line) => line.msg === "unexpected error");
    expect(logged).toMatchObject({ requestId: "broken-1", err: { type: "PostgresError", message: expect.stringContaining("users") } });
    expect(lines.join("")).not.toContain(email);
    expect(lines.join("")).not.toContain(token);
  });
});
