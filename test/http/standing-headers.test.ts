import { describe, expect, test } from "bun:test";
import { createFetch } from "#http/server-fetch";
import { fillPath, nameOf, operations } from "../support/openapi/document";
import { newUser } from "../support/server/people";
import { populatedOrganization, withQueue } from "../support/server/populated-organization";
import { openRaw, sendRaw } from "../support/server/raw";
import { world } from "../support/server/world";

withQueue();

/** Answers that a caller may keep, and for how long. */
const KEPT = new Map<string, string | null>([
  ["listTrustStores", "private, max-age=3600"],
  ["listFrameworkCatalogue", "private, no-cache"],
]);

const standing = (headers: Headers) => ({ nosniff: headers.get("x-content-type-options"), caching: headers.get("cache-control") });
const NO_STORE = { nosniff: "nosniff", caching: "no-store" };
const request = (path: string, init: RequestInit = {}) => fetch(`${world.url}${path}`, { redirect: "manual", ...init });

describe("every operation", () => {
  test("carries nosniff and no-store, unless it says how long the answer may be kept", async () => {
    const everything = await populatedOrganization();
    const statuses = new Set<number>();
    const last = operations.filter((each) => each.method === "DELETE" || each.id === "signOut");
    for (const operation of [...operations.filter((each) => !last.includes(each)), ...last]) {
      if (operation.path.endsWith("/stream")) continue; // it never ends: below
      const { status, headers } = await everything.send(operation);
      statuses.add(status);
      expect({ name: nameOf(operation), ...standing(headers) }).toEqual({
        name: nameOf(operation),
        ...NO_STORE,
        ...(status === 200 && KEPT.has(operation.id) && { caching: KEPT.get(operation.id) ?? null }),
      });
    }
    expect([200, 201, 202, 204].filter((each) => !statuses.has(each))).toEqual([]);
  });

  test("carries both when it refuses a stranger", async () => {
    for (const { method, path } of operations) {
      const answer = await request(
        fillPath(path, () => "x"),
        { method },
      );
      if (!path.startsWith("/health")) expect(answer.status).toBeGreaterThanOrEqual(400);
      expect({ method, path, ...standing(answer.headers) }).toEqual({ method, path, ...NO_STORE });
      await answer.body?.cancel();
    }
  });
});

describe("the answers around the operations", () => {
  test.each([
    ["/nothing", "GET", 404],
    ["/health/live", "DELETE", 405],
    ["/health/live", "HEAD", 200],
    ["/metrics", "GET", 200],
    ["/swagger", "GET", 200],
    ["/files/x", "GET", 403],
  ])("%s %s", async (path, method, status) => {
    const answer = await request(path, { method });
    expect({ status: answer.status, ...standing(answer.headers) }).toEqual({ status, ...NO_STORE });
  });

  test.each(["/swagger/json", "/swagger/script.js"])("%s says how long it may be kept", async (path) => {
    const { nosniff, caching } = standing((await request(path)).headers);
    expect([nosniff, caching]).toEqual(["nosniff", path.endsWith("json") ? "no-cache" : "public, max-age=31536000, immutable"]);
  });

  test("400 for no host, 413 and 415", async () => {
    const refusal = await sendRaw("GET /health/live HTTP/1.1\r\nHost: a b\r\n\r\n");
    expect({ status: refusal.status, ...standing(refusal.headers) }).toEqual({ status: 400, ...NO_STORE });
    const { token } = await newUser();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    for (const [status, init] of [
      [413, { body: "x".repeat(2_000_000), headers }],
      [415, { body: "x", headers: { ...headers, "content-type": "text/plain" } }],
    ] as const) {
      const answer = await request("/users/me/profile", { method: "PATCH", ...init });
      expect({ status: answer.status, ...standing(answer.headers) }).toEqual({ status, ...NO_STORE });
    }
  });

  test("503 at the deadline, and 500 for an answer that cannot be written", async () => {
    const quiet = { ...world.deps, config: { ...world.config, requestTimeout: 1_000 }, log: { ...world.deps.log, error: () => {}, info: () => {} } as never };
    const answerOf = (fetch: () => Promise<Response>) =>
      createFetch({ fetch } as never, quiet)(new Request("http://localhost/", { headers: { host: "localhost" } }), world.server as never);
    const late = await answerOf(() => new Promise(() => {}));
    expect({ status: late.status, ...standing(late.headers) }).toEqual({ status: 503, ...NO_STORE });
    const failed = await answerOf(() => Promise.reject(new Error("as planned")));
    expect({ status: failed.status, ...standing(failed.headers) }).toEqual({ status: 500, ...NO_STORE });
  }, 20_000);

  test("the stream of notices is neither kept, buffered nor compressed", async () => {
    const { token } = await newUser();
    const connection = await openRaw();
    connection.write(
      `GET /users/me/notifications/stream HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip, identity;q=0\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    while (!connection.received().includes("\r\n\r\n")) await Bun.sleep(20);
    connection.close();
    const { status, headers } = await connection.answer();
    expect({ status, ...standing(headers) }).toEqual({ status: 200, ...NO_STORE });
    expect(["content-type", "x-accel-buffering", "content-encoding"].map((name) => headers.get(name))).toEqual(["text/event-stream", "no", null]);
  });
});
