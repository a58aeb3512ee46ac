import { describe, expect, test } from "bun:test";
import { createCountedEvents, type Occurrence } from "#modules/people/audit/services/counted-events";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const { sql } = world;

/** A counter of the test's own, with the organizations it has seen. */
function newCounter({ known = [] as string[], database = sql, maxEach = 10_000 } = {}) {
  let now = Date.parse("2030-01-01T00:00:00Z") / 1_000;
  return createCountedEvents({
    sql: database,
    clock: () => new Date(++now * 1_000),
    isKnownOrganization: (id) => known.includes(id),
    maxEach,
  });
}

const action = () => `test.${crypto.randomUUID()}`;
const occurrence = (rest: Partial<Occurrence>): Occurrence => ({
  organizationId: undefined,
  actor: { type: "anonymous" },
  action: "test.refused",
  targetType: "route",
  targetId: "GET /x",
  requestId: null,
  details: {},
  ...rest,
});

const platformEvents = (name: string) => sql`select * from platform_audit_events where action = ${name} order by id`;
const eventsOf = (id: string, name: string) => sql`select * from audit_events where organization_id = ${id} and action = ${name} order by id`;

describe("counted audit events", () => {
  test("equal ones become one row with how many, first and last; others a row each", async () => {
    const [name, { add, flush }] = [action(), newCounter()];
    for (const peer of ["a", "b", "a", "a"]) add(occurrence({ action: name, details: { peer }, requestId: peer }));
    await flush();
    const rows = await platformEvents(name);
    expect(rows.map((row) => row.details)).toEqual([
      { peer: "a", count: 3, firstAt: "2030-01-01T00:00:01.000Z", lastAt: "2030-01-01T00:00:04.000Z" },
      { peer: "b", count: 1, firstAt: "2030-01-01T00:00:02.000Z", lastAt: "2030-01-01T00:00:02.000Z" },
    ]);
    await flush();
    expect(await platformEvents(name)).toHaveLength(2);
    add(occurrence({ action: name, details: { peer: "a" } }));
    await flush();
    expect(await platformEvents(name)).toHaveLength(3);
  });

  test("belong to the organization that exists, known or looked up, else to the platform, counted together", async () => {
    const name = action();
    const [known, unknown] = [await newOrganization(), await newOrganization()];
    const { add, flush } = newCounter({ known: [known.id] });
    for (const organizationId of [known.id, unknown.id, crypto.randomUUID(), crypto.randomUUID(), undefined]) add(occurrence({ action: name, organizationId }));
    await flush();
    expect(await eventsOf(known.id, name)).toHaveLength(1);
    expect(await eventsOf(unknown.id, name)).toHaveLength(1);
    expect((await platformEvents(name)).map((row) => row.details.count)).toEqual([3]);
  });

  test("ask the database for at most 200 organizations, however many ids a stranger makes up", async () => {
    const name = action();
    const { add, flush } = newCounter();
    let lookups = 0;
    const debug = (_: number, text: string, parameters: unknown[]) => {
      if (text.includes("from organizations where id = any")) lookups += String(parameters[0]).split(",").length;
    };
    for (let index = 0; index < 5_000; index++) add(occurrence({ action: name, organizationId: crypto.randomUUID() }));
    Object.assign(sql.options, { debug });
    await flush();
    Object.assign(sql.options, { debug: false });
    expect(lookups).toBe(200);
    expect((await platformEvents(name)).map((row) => row.details.count)).toEqual([5_000]);
  });

  test("beyond twenty different ones of a peer or a caller count as one of it: a stranger who tries every route fills no trail", async () => {
    const [name, { add, flush }] = [action(), newCounter({ maxEach: 20 })];
    const actor = { type: "user" as const, id: crypto.randomUUID() };
    for (let index = 0; index < 100; index++) {
      add(occurrence({ action: name, targetId: `GET /${index}`, details: { peer: "192.0.2.1" } }));
      add(occurrence({ action: name, targetId: `GET /${index}`, details: { peer: "192.0.2.1" }, actor }));
    }
    add(occurrence({ action: name, details: { peer: "192.0.2.2" } }));
    await flush();
    const rows = await platformEvents(name);
    expect(rows).toHaveLength(43);
    const others = rows.filter((row) => row.target_type === "others").map((row) => ({ actor: row.actor, peer: row.details.peer, count: row.details.count }));
    expect(others).toEqual([
      { actor: { type: "anonymous" }, peer: "192.0.2.1", count: 80 },
      { actor, peer: "192.0.2.1", count: 80 },
    ]);
  });

  test("beyond a thousand different ones count as one", async () => {
    const [name, { add, flush }] = [action(), newCounter()];
    for (let index = 0; index < 1_500; index++) add(occurrence({ action: name, details: { peer: String(index) } }));
    await flush();
    const rows = await platformEvents(name);
    expect(rows).toHaveLength(1_001);
    expect(rows.filter((row) => row.target_type === "others").map((row) => row.details.count)).toEqual([500]);
  });

  test("wait in memory while the database is away, and are written once", async () => {
    const name = action();
    let isAway = true;
    const database = new Proxy(sql, {
      apply: (target, _, args: Parameters<typeof sql>) => (isAway ? Promise.reject(new Error("away")) : Reflect.apply(target, undefined, args)),
    });
    const { add, flush } = newCounter({ database });
    add(occurrence({ action: name }));
    expect(await flush().catch((error: Error) => error.message)).toBe("away");
    isAway = false;
    add(occurrence({ action: name }));
    await Promise.all([flush(), flush()]);
    expect((await platformEvents(name)).map((row) => row.details.count)).toEqual([2]);
  });
});
