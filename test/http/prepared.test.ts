import { describe, expect, test } from "bun:test";
import { createApp } from "#app";
import { world } from "../support/server/world";

type Route = { method: string; path: string; hooks: { query?: unknown }; compile: () => (context: unknown) => unknown };

/** The code that Elysia makes of each route: it reads the source of handlers and hooks, and prepares what they might use. */
const routes = (createApp(world.deps).routes as unknown as Route[]).map(({ method, path, hooks, compile }) => ({
  name: `${method} ${path}`,
  hasQuery: hooks.query !== undefined,
  code: compile().toString(),
}));
const those = (isOne: (route: (typeof routes)[number]) => boolean) => routes.filter(isOne).map((route) => route.name);

describe("no request pays for", () => {
  test("cookies, which nothing reads", () => {
    expect(routes.length).toBeGreaterThan(80);
    expect(those(({ code }) => code.includes("parseCookie"))).toEqual([]);
  });

  test("a query that its operation does not have", () => {
    expect(those(({ hasQuery, code }) => !hasQuery && code.includes("parseQueryFromURL"))).toEqual([]);
  });

  test("the server as a property of each context", () => {
    expect(those(({ code }) => code.includes("getServer"))).toEqual([]);
  });

  test("a look at its answer by the documentation", () => {
    expect(those(({ name, code }) => code.includes("e.mapResponse") && !name.startsWith("GET /swagger"))).toEqual([]);
  });
});
