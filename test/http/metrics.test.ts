import { afterAll, describe, expect, test } from "bun:test";
import { startWith } from "../auth/servers";
import { call } from "../support/server/call";
import { newOrganization, newUser } from "../support/server/people";
import { openRaw, sendRaw } from "../support/server/raw";
import { startServer, WORKER_KEY, world } from "../support/server/world";

const server = startServer({ ...world.config, corsOrigins: ["https://portal.example"] }, world.database);
const { url } = server;
afterAll(() => server.server.stop(true));

const scrape = async () => (await call("GET", "/metrics", { url })).text;
const figure = async (line: string) =>
  Number(
    (await scrape())
      .split("\n")
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length + 1) ?? 0,
  );
const countOf = (method: string, route: string, status: number) =>
  figure(`certitude_http_request_duration_seconds_count{method="${method}",route="${route}",status="${status}"}`);

/** How many requests run besides the scrape itself. */
const inFlight = async () => (await figure("certitude_http_requests_in_flight")) - 1;

const TOKENS = ["a token of the metrics that is long enough", "the next token of the metrics that is long enough"] as const;

describe("GET /metrics", () => {
  test("401 for a stranger: no gateway is named by default", async () => {
    await using open = startWith({ TRUSTED_GATEWAYS: undefined });
    const answer = await call("GET", "/metrics", { url: open.url });
    expect(answer).toMatchObject({ status: 401, body: "" });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    await using other = startWith({ TRUSTED_GATEWAYS: "192.0.2.1" });
    expect((await call("GET", "/metrics", { url: other.url })).status).toBe(401);
  });

  test.each(["x-forwarded-for", "X-Forwarded-Host", "x-forwarded", "x-real-ip", "forwarded", "Via", "cf-connecting-ip", "true-client-ip"])(
    "401 for a request that a trusted gateway passes on (%s)",
    async (name) => {
      expect(await call("GET", "/metrics", { url, headers: { [name]: "127.0.0.1" } })).toMatchObject({ status: 401, body: "" });
      expect((await call("GET", "/metrics", { url, headers: { [name]: "" } })).status).toBe(401);
    },
  );

  test.each([
    ["another token", `Bearer ${"y".repeat(32)}`],
    ["the beginning of it", `Bearer ${TOKENS[0].slice(0, -1)}`],
    ["both of them", `Bearer ${TOKENS.join(",")}`],
    ["it twice", `Bearer ${TOKENS[0]}, Bearer ${TOKENS[0]}`],
    ["nothing", "Bearer "],
    ["no scheme", TOKENS[0]],
    ["another scheme", `Basic ${TOKENS[0]}`],
  ])("401 with a challenge for %s, also from a trusted gateway", async (_, authorization) => {
    for (const env of [{ METRICS_TOKEN: TOKENS.join(",") }, { METRICS_TOKEN: TOKENS.join(","), TRUSTED_GATEWAYS: undefined }]) {
      await using guarded = startWith(env);
      const answer = await call("GET", "/metrics", { url: guarded.url, headers: { authorization } });
      expect(answer).toMatchObject({ status: 401, body: "" });
      const isShown = /^Bearer ./.test(authorization);
      expect(answer.headers.get("www-authenticate")).toBe(isShown ? 'Bearer error="invalid_token"' : "Bearer");
    }
  });

  test("401 for the keys of others: a worker's, a user's, an ingest key", async () => {
    await using guarded = startWith({ METRICS_TOKEN: TOKENS[0] });
    for (const token of [WORKER_KEY, (await newUser()).token]) expect((await call("GET", "/metrics", { url: guarded.url, token })).status).toBe(401);
  });

  test("200 for METRICS_TOKEN from any address, forwarded or not; either one while it is rotated", async () => {
    await using guarded = startWith({ METRICS_TOKEN: TOKENS.join(", "), TRUSTED_GATEWAYS: undefined });
    for (const token of TOKENS) {
      expect((await call("GET", "/metrics", { url: guarded.url, token })).status).toBe(200);
      expect((await call("GET", "/metrics", { url: guarded.url, token, headers: { "x-forwarded-for": "203.0.113.7" } })).status).toBe(200);
    }
  });

  test("200 for a trusted gateway's own request", async () => {
    const answer = await call("GET", "/metrics", { url });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    expect(answer.text).toContain("certitude_database_connections_max");
    expect(answer.text).toContain("process_cpu_seconds_total");
  });

  test("200 counts requests by the route's pattern and status, unknown paths together", async () => {
    const { id, headers } = await newOrganization();
    const route = "/organizations/:organizationId/certificates";
    await call("GET", `/organizations/${id}/certificates`, { url, headers: headers("ORG_ADMIN") });
    await call("GET", `/organizations/${id}/certificates`, { url });
    await call("GET", `/${crypto.randomUUID()}`, { url });
    await call("GET", `/${crypto.randomUUID()}`, { url });
    expect([await countOf("GET", route, 200), await countOf("GET", route, 403), await countOf("GET", "unknown", 404)]).toEqual([1, 1, 2]);
    expect(await scrape()).not.toContain(id);
  });

  test("200 counts what is refused at the edge, and preflights", async () => {
    await sendRaw("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", url);
    await call("OPTIONS", "/users/me", { url, headers: { origin: "https://portal.example", "access-control-request-method": "GET" } });
    expect([await countOf("GET", "unknown", 400), await countOf("OPTIONS", "unknown", 204)]).toEqual([1, 1]);
  });

  test("200 a request is in flight until it is answered, fails or is given up", async () => {
    const { token } = await newUser();
    await call("GET", "/users/me", { url, token }); // so that the token is known
    const head = `PATCH /users/me/profile HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`;
    const slow = await openRaw(url);
    slow.write(`${head}Content-Length: 2\r\n\r\n{`);
    const gone = await openRaw(url);
    gone.write(`${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`);
    while ((await inFlight()) < 2) await Bun.sleep(5);
    gone.close();
    while ((await inFlight()) > 1) await Bun.sleep(5);
    slow.write("}");
    expect(await slow.answer()).toMatchObject({ status: 400 });
    slow.close();

    await call("PATCH", "/users/me/profile", { url, token, raw: "x".repeat(2_000_000), headers: { "content-type": "application/json" } });
    await call("PATCH", "/users/me/profile", { url, token, raw: "{", headers: { "content-type": "application/json" } });
    await call("GET", "/users/me", { url });
    await sendRaw("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", url);
    expect(await inFlight()).toBe(0);
  });
});
