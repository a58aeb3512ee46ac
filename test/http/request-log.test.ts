import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createLog } from "#log/log";
import { call } from "../support/server/call";
import { newOrganization, newUser } from "../support/server/people";
import { openRaw, sendRaw } from "../support/server/raw";
import { startServer, world } from "../support/server/world";

const lines: string[] = [];
const server = startServer(world.config, world.database, undefined, createLog("info", { write: (line) => void lines.push(line) }));
const { url } = server;
afterAll(() => server.server.stop(true));
beforeEach(() => {
  lines.length = 0;
});

const KNOWN = ["apiToken", "level", "method", "ms", "organization", "peer", "reason", "requestId", "route", "status", "time", "user"];

/** The one line of the one request of a test. */
function theLine() {
  expect(lines).toHaveLength(1);
  const line = JSON.parse(lines[0] ?? "");
  expect(KNOWN).toEqual(expect.arrayContaining(Object.keys(line)));
  expect(line.ms).toBeGreaterThanOrEqual(0);
  return line;
}

describe("the log", () => {
  test("has one line of a user's request, and nothing that is secret or personal", async () => {
    const user = await newUser();
    const secret = "s3cret-value";
    const headers = { "x-request-id": "log-1", "x-custom": secret, cookie: `session=${secret}`, "user-agent": secret };
    await call("PATCH", `/users/me/profile?token=${secret}`, { url, token: user.token, headers, body: { displayName: secret } });
    expect(theLine()).toMatchObject({ requestId: "log-1", method: "PATCH", route: "/users/me/profile", status: 400, user: user.id });
    for (const hidden of [secret, user.token, user.email]) expect(lines[0]).not.toContain(hidden);
  });

  test("has the organization and the route's pattern, not the path", async () => {
    const { id, headers } = await newOrganization();
    await call("GET", `/organizations/${id}/certificates?q=hidden-words`, { url, headers: headers("ORG_ADMIN") });
    expect(theLine()).toMatchObject({ route: "/organizations/:organizationId/certificates", status: 200, organization: id });
    expect(lines[0]).not.toContain("hidden-words");
  });

  test("has user and organization of a member's request", async () => {
    const organization = await newOrganization();
    const user = await organization.join();
    await call("GET", `/organizations/${organization.id}/certificates`, { url, headers: organization.headers("ORG_ADMIN"), token: user.token });
    expect(theLine()).toMatchObject({ organization: organization.id, user: user.id });
  });

  test.each([
    ["GET", "/users/me", 401, "/users/me"],
    ["GET", "/hidden-words", 404, "unknown"],
    ["DELETE", "/users/me/profile", 405, "unknown"],
    ["HEAD", "/health/live", 200, "/health/live"],
  ])("has one line of %s %s, %d", async (method, path, status, route) => {
    await call(method, path, { url });
    expect(theLine()).toMatchObject({ method, status, route });
    expect(lines[0]).not.toContain("hidden-words");
  });

  test("has one line of a request with a body that is refused", async () => {
    const user = await newUser();
    await call("PATCH", "/users/me/profile", { url, token: user.token, body: { password: "s3cret" } });
    expect(theLine()).toMatchObject({ status: 400, user: user.id });
    expect(lines[0]).not.toContain("s3cret");
  });

  test("has one line of a request that the edge refused", async () => {
    await sendRaw("GET /health/live HTTP/1.1\r\nHost: a b\r\nx-request-id: edge-1\r\n\r\n", url);
    expect(theLine()).toMatchObject({ requestId: "edge-1", route: "unknown", status: 400 });
  });

  test("has one line of a request whose caller hung up, and calls it no failure of the server", async () => {
    const { token } = await newUser();
    const connection = await openRaw(url);
    connection.write(`PATCH /users/me/profile HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Length: 100\r\n\r\n{`);
    await Bun.sleep(100);
    connection.close();
    while (lines.length === 0) await Bun.sleep(10);
    expect(theLine()).toMatchObject({ level: 30, status: 400, route: "/users/me/profile" });
  });
});

describe("an error in the log", () => {
  test("names no value that Postgres quotes", async () => {
    const log = createLog("info", { write: (line) => void lines.push(line) });
    const work = [
      world.sql`select ${"s3cret"}::text::int`,
      world.sql`insert into organizations (id, name) values (${Bun.randomUUIDv7()}, ${null})`,
      world.sql`insert into users (id, email) select id, 's3cret' from (values (${crypto.randomUUID()}::uuid)) v (id) cross join generate_series(1, 2)`,
    ];
    for (const each of work) log.error({ err: await each.catch((error: Error) => error) }, "failed");
    const codes = lines.map((line) => JSON.parse(line).err.code);
    expect(codes).toEqual(["22P02", "23502", "23505"]);
    expect(lines.join("")).not.toContain("s3cret");
    expect(JSON.parse(lines[0] ?? "").err.message).toBe("invalid input syntax for type integer: …");
  });
});
