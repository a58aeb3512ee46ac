import { describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { worker } from "#guards/worker";
import { errors } from "#http/errors";
import { startWith } from "../auth/servers";
import { call } from "../support/server/call";
import { newUser } from "../support/server/people";
import { WORKER_KEY } from "../support/server/world";

const SECOND_KEY = "c2Vjb25kLWtleS10aGF0LWlzLWxvbmctZW5vdWdo/+==";
const refused = { status: 401, body: "" };

/** A server whose one route is for workers: it answers the body. */
function startWork(keys: string | undefined) {
  const { deps, server } = startWith({ WORKER_API_KEY: keys });
  const app = echo(deps).listen({ hostname: "127.0.0.1", port: 0 });
  const send = (authorization?: string, raw = '{"a":1}') =>
    call("POST", "/jobs", {
      url: app.server?.url.origin ?? "",
      raw,
      headers: { "content-type": "application/json", ...(authorization !== undefined && { authorization }) },
    });
  async function stop() {
    await app.stop(true);
    await server.stop(true);
  }
  return { send, [Symbol.asyncDispose]: stop };
}

const echo = (deps: Deps) =>
  new Elysia({ normalize: false })
    .use(errors(deps, { methodsAt: () => [] }))
    .onParse({ as: "global" }, () => null)
    .use(worker(deps))
    .post("/jobs", ({ body }) => body);

describe("a worker key", () => {
  test("401 without one, and before the body is read", async () => {
    await using work = startWork(WORKER_KEY);
    expect(await work.send()).toMatchObject(refused);
    expect(await work.send(undefined, "{")).toMatchObject(refused);
    expect(await work.send("Bearer wrong", "{")).toMatchObject(refused);
    expect((await work.send(`Bearer ${WORKER_KEY}`, "{")).status).toBe(400);
  });

  test.each([
    ["empty", "Bearer "],
    ["a prefix of it", `Bearer ${WORKER_KEY.slice(0, -1)}`],
    ["it and a letter", `Bearer ${WORKER_KEY}x`],
    ["in other letters", `Bearer ${WORKER_KEY.toUpperCase()}`],
    ["both keys as they are configured", `Bearer ${WORKER_KEY},${SECOND_KEY}`],
    ["in another scheme", `Basic ${btoa(`worker:${WORKER_KEY}`)}`],
    ["without a scheme", WORKER_KEY],
    ["twice", `Bearer ${WORKER_KEY}, Bearer ${WORKER_KEY}`],
  ])("401 when it is %s", async (_, authorization) => {
    await using work = startWork(`${WORKER_KEY},${SECOND_KEY}`);
    expect(await work.send(authorization)).toMatchObject(refused);
  });

  test("401 for a user's token", async () => {
    await using work = startWork(WORKER_KEY);
    expect(await work.send(`Bearer ${(await newUser()).token}`)).toMatchObject(refused);
  });

  test.each([undefined, "", " ", ","])("401 always when WORKER_API_KEY is %j", async (keys) => {
    await using work = startWork(keys);
    for (const authorization of [undefined, "Bearer ", "Bearer undefined", "Bearer ,", `Bearer ${WORKER_KEY}`])
      expect(await work.send(authorization)).toMatchObject(refused);
  });

  test("401 for the old one once it is rotated out", async () => {
    await using work = startWork(SECOND_KEY);
    expect(await work.send(`Bearer ${WORKER_KEY}`)).toMatchObject(refused);
    expect((await work.send(`Bearer ${SECOND_KEY}`)).status).toBe(200);
  });

  test("200 for either of two while rotating", async () => {
    await using work = startWork(` ${WORKER_KEY} , ${SECOND_KEY} `);
    for (const key of [WORKER_KEY, SECOND_KEY])
      for (const scheme of ["Bearer", "bearer"]) expect(await work.send(`${scheme} ${key}`)).toMatchObject({ status: 200, body: { a: 1 } });
  });

  test.each(["too short to be a key", `${WORKER_KEY},short`])("WORKER_API_KEY %j stops the start", (keys) => {
    expect(() => startWith({ WORKER_API_KEY: keys })).toThrow("WORKER_API_KEY must have at least 32 characters.");
  });
});
