import { afterAll, describe, expect, test } from "bun:test";
import { call } from "../support/server/call";
import { newUser } from "../support/server/people";
import { startServer, world } from "../support/server/world";

const PORTAL = "https://portal.example";
const open = startServer({ ...world.config, corsOrigins: [PORTAL, "http://localhost:5173"] }, world.database);
afterAll(() => open.server.stop(true));

const preflight = (url: string, origin: string) =>
  call("OPTIONS", "/users/me/profile", {
    url,
    headers: { origin, "access-control-request-method": "PATCH", "access-control-request-headers": "authorization,content-type" },
  });
const corsHeaders = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("without CORS_ORIGINS", () => {
  test("no origin is named, and a preflight is 405", async () => {
    const answer = await call("GET", "/health/live", { headers: { origin: PORTAL } });
    expect(corsHeaders(answer.headers)).toEqual([]);
    const asked = await preflight(world.url, PORTAL);
    expect(asked.status).toBe(405);
    expect(corsHeaders(asked.headers)).toEqual([]);
  });
});

describe("with CORS_ORIGINS", () => {
  test.each([PORTAL, "http://localhost:5173"])("204 the preflight of %s is answered", async (origin) => {
    const { status, headers } = await preflight(open.url, origin);
    expect(status).toBe(204);
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    expect(headers.get("access-control-allow-methods")).toContain("PATCH");
    expect(headers.get("access-control-allow-headers")).toContain("authorization");
    expect(headers.get("x-request-id")).toBeString();
  });

  test("200 and every refusal name the origin, and vary by it", async () => {
    const { token } = await newUser();
    for (const [path, wish, status] of [
      ["/users/me", { token }, 200],
      ["/users/me", {}, 401],
      ["/nothing", {}, 404],
    ] as const) {
      const answer = await call("GET", path, { url: open.url, ...wish, headers: { origin: PORTAL } });
      expect(answer.status).toBe(status);
      expect(answer.headers.get("access-control-allow-origin")).toBe(PORTAL);
      expect(answer.headers.get("vary")?.split(", ")).toContain("Origin");
    }
  });

  test("204 a preflight that asks for no header is answered none", async () => {
    const answer = await call("OPTIONS", "/users/me", { url: open.url, headers: { origin: PORTAL, "access-control-request-method": "GET" } });
    expect(answer.status).toBe(204);
    expect(answer.headers.has("access-control-allow-headers")).toBe(false);
  });

  test("401 does not show a page which headers its request had, such as those that a gateway adds", async () => {
    const answer = await call("GET", "/users/me", { url: open.url, headers: { origin: PORTAL, "x-gateway-secret": "x" } });
    expect(corsHeaders(answer.headers)).toEqual(["access-control-allow-origin", "access-control-expose-headers"]);
  });

  test.each([
    "https://evil.example",
    "http://portal.example",
    "https://portal.example.evil.example",
    "https://portal.example:8443",
    "https://xportal.example",
    "null",
  ])("the origin %s gets nothing", async (origin) => {
    expect(corsHeaders((await call("GET", "/health/live", { url: open.url, headers: { origin } })).headers)).toEqual([]);
    expect(corsHeaders((await preflight(open.url, origin)).headers)).toEqual([]);
  });

  test("200 a program without an origin is served as ever", async () => {
    const answer = await call("GET", "/health/live", { url: open.url });
    expect(answer.status).toBe(200);
    expect(corsHeaders(answer.headers)).toEqual([]);
  });

  test("404 and 405 stay what they are", async () => {
    expect((await call("GET", "/nothing", { url: open.url })).status).toBe(404);
    const answer = await call("GET", "/users/me/profile", { url: open.url });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "PATCH"]);
  });
});
