import { afterAll, describe, expect, test } from "bun:test";
import type { Refusal } from "#http/errors";
import { createLanes, lanesFor } from "#limits/lanes";
import { newOrganization } from "../support/server/people";
import { startServer, world } from "../support/server/world";

const LIMITS = { what: "tests", total: 2, each: 1, waitingEach: 3, waitingTotal: 5, patience: 10_000 };

/** Lanes, and what runs in them until the test ends it. */
function withWork(limits = {}) {
  const { run, organizations } = createLanes({ ...LIMITS, ...limits });
  const begun: string[] = [];
  const endings: (() => void)[] = [];
  /** Returns "done", or why it was refused. */
  function ask(organization: string, name = organization) {
    const work = () => {
      begun.push(name);
      return new Promise<string>((resolve) => endings.push(() => resolve("done")));
    };
    return run(organization, work).catch((error: Refusal) => String(error.status));
  }
  /** Ends what began first and has not ended, and lets the next one begin. */
  async function endOne() {
    endings.shift()?.();
    await Bun.sleep(0);
  }
  return { run, organizations, begun, ask, endOne };
}

describe("the lanes of expensive reads", () => {
  test("let one of an organization run, and two in all", async () => {
    const { begun, ask, endOne } = withWork();
    const asked = [ask("a", "a1"), ask("a", "a2"), ask("b", "b1"), ask("c", "c1")];
    expect(begun).toEqual(["a1", "b1"]);
    await endOne();
    expect(begun).toEqual(["a1", "b1", "c1"]);
    while (begun.length < 4) await endOne();
    await endOne();
    await endOne();
    expect(await Promise.all(asked)).toEqual(["done", "done", "done", "done"]);
  });

  test("take turns: who asks for much waits no shorter than who asks for one", async () => {
    const { begun, ask, endOne } = withWork({ total: 1, waitingEach: 100, waitingTotal: 100 });
    for (let index = 0; index < 10; index++) void ask("busy");
    for (const each of ["x", "y", "z"]) void ask(each);
    for (let count = 0; count < 5; count++) await endOne();
    expect(begun.slice(0, 5).toSorted()).toEqual(["busy", "busy", "x", "y", "z"]);
  });

  test("429 beyond an organization's queue, beyond everybody's, and after too long in it", async () => {
    const { begun, ask, organizations } = withWork({ total: 1, patience: 30 });
    void ask("a");
    const waiting = [ask("a"), ask("a"), ask("a")];
    expect(await ask("a")).toBe("429");
    waiting.push(ask("b"), ask("b"));
    expect(await ask("c")).toBe("429");
    expect(await Promise.all(waiting)).toEqual(["429", "429", "429", "429", "429"]);
    expect([begun, organizations()]).toEqual([["a"], 1]);
  });

  test("are waited for no longer than a signal says, however patient the caller", async () => {
    const { run, begun, ask, endOne } = withWork({ total: 1, patience: 10, waitingEach: 1 });
    const given = new AbortController();
    void ask("a");
    const patient = run("a", async () => "done", { isPatient: true });
    const alsoPatient = run("a", async () => "done", { isPatient: true }); // behind a full queue
    const waiting = run("b", async () => "done", { signal: given.signal, isPatient: true });
    expect(await ask("b")).toBe("429");
    given.abort(new Error("as planned"));
    await expect(waiting).rejects.toThrow("as planned");
    await expect(run("a", async () => "done", { signal: given.signal })).rejects.toThrow("as planned");
    await endOne();
    expect([await patient, await alsoPatient, begun]).toEqual(["done", "done", ["a"]]);
  });

  test("go on after one that failed, and forget organizations without work", async () => {
    const { run, organizations } = withWork();
    for (let count = 0; count < 10; count++)
      expect(await run("a", () => Promise.reject(new Error("as planned"))).catch((error: Error) => error.message)).toBe("as planned");
    expect(await run("a", async () => "done")).toBe("done");
    expect(organizations()).toBe(0);
  });

  test("leave most connections to others, and one on the embedded database, which is one session", () => {
    expect([8, 4, 1].map((connections) => lanesFor(connections).total)).toEqual([2, 1, 1]);
  });
});

describe("GET /organizations/{organizationId}/knowledge/search while others search", () => {
  const { deps, server, url } = startServer(world.config, world.database);
  afterAll(() => server.stop(true));
  const free = Promise.withResolvers<void>();

  test("429 with Retry-After beyond the queue, 200 for another organization and for what is cheap", async () => {
    const [busy, other] = [await newOrganization(), await newOrganization()];
    const held = deps.lanes.run(busy.id, () => free.promise);
    const search = ({ id, headers }: typeof busy) => fetch(`${url}/organizations/${id}/knowledge/search?q=keys`, { headers: headers("ORG_MEMBER") });
    const waiting = Array.from({ length: 64 }, () => search(busy));
    while (deps.lanes.waiting() < 64) await Bun.sleep(1);
    const refused = await search(busy);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({ message: "Too many expensive reads of this organization are under way. Try again in a moment." });
    if (lanesFor(world.sql.options.max).total > 1) expect((await search(other)).status).toBe(200);
    const cheap = `${url}/organizations/${busy.id}/certs/monitoring/top-expiring`;
    expect((await fetch(cheap, { headers: busy.headers("ORG_MEMBER") })).status).toBe(200);
    free.resolve();
    await held;
    expect((await Promise.all(waiting)).map((each) => each.status)).toEqual(Array.from({ length: 64 }, () => 200));
  });
});
