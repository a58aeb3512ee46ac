import { beforeEach, describe, expect, test } from "bun:test";
import { audit, auditMany, indexEvents } from "#modules/people/audit/queries";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { statementsDuring } from "../../../support/server/statements";
import { world } from "../../../support/server/world";

type Event = { id: string; action: string; targetId: string };

const { sql } = world;
const ALL = 1_000_000;

const write = ({ scope }: TestOrganization, action: string, target: string) => sql`${audit(sql, scope, action, sql`select ${target}::text, '{}'::jsonb`)}`;

const writeMany = ({ scope }: TestOrganization, action: string, count: number) =>
  sql`${auditMany(sql, scope, action, sql`select 'many-' || n, '{}'::jsonb from generate_series(1, ${count}::int) as n`)}`;

async function list({ admin }: TestOrganization, query = "") {
  const { status, body } = await admin("GET", `/audit-events?${query.includes("limit=") ? "" : "limit=100&"}${query}`);
  expect(status).toBe(200);
  return body.items as Event[];
}

/** How many events of the organization are where they are written, and how many under the indexes. */
async function placesOf({ id }: TestOrganization) {
  const [row] = await sql`
    select (select count(*)::int from audit_tail where organization_id = ${id}) as tail,
      (select count(*)::int from only audit_events where organization_id = ${id}) as indexed`;
  return row as { tail: number; indexed: number };
}

const FILTERS = [
  "",
  "action=test.many",
  "action=test.one",
  "targetId=many-3",
  "actor=command-line",
  "action=test.many&targetId=many-3",
  "from=2020-01-01T00:00:00Z",
];

describe("GET /organizations/{organizationId}/audit-events while events move under the indexes", () => {
  beforeEach(() => indexEvents(sql, ALL));

  test("200 with one's own event at once, and with the same events however many of them have moved", async () => {
    const organization = await newOrganization();
    await write(organization, "test.one", "many-3");
    await writeMany(organization, "test.many", 5);
    await write(organization, "test.one", "one");
    const before = await Promise.all(FILTERS.map((each) => list(organization, each)));
    expect(before[0]?.slice(0, 7).map(({ targetId }) => targetId)).toEqual(["one", "many-5", "many-4", "many-3", "many-2", "many-1", "many-3"]);
    expect(before[4]?.length).toBeGreaterThanOrEqual(7);
    const { tail } = await placesOf(organization);
    for (let indexed = 1; indexed <= tail; indexed++) {
      expect(await indexEvents(sql, 1)).toBe(1);
      expect(await Promise.all(FILTERS.map((each) => list(organization, each)))).toEqual(before);
    }
    expect(await placesOf(organization)).toEqual({ tail: 0, indexed: tail });
    expect(await indexEvents(sql, ALL)).toBe(0);
  });

  test("200 with a whole write, also where its first event is the last to move", async () => {
    const organization = await newOrganization();
    await write(organization, "test.one", "before");
    await writeMany(organization, "test.many", 5);
    await write(organization, "test.one", "after");
    const lists = () => Promise.all(["", "&limit=2"].flatMap((limit) => FILTERS.map((each) => list(organization, each + limit))));
    const before = await lists();
    await sql`
      with moved as (delete from audit_tail where organization_id = ${organization.id} and not is_first returning *)
      insert into audit_events select * from moved`;
    expect(await lists()).toEqual(before);
  });

  test.each(FILTERS)("200 page by page, each event once and in order, while some move between two pages: %p", async (filter) => {
    const organization = await newOrganization();
    for (const prefix of [1, 2, 3]) {
      await write(organization, "test.one", `${prefix}`);
      await writeMany(organization, "test.many", 4);
    }
    for (const limit of [1, 2, 3]) {
      const expected = await list(organization, filter);
      const seen: Event[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await organization.admin("GET", `/audit-events?limit=${limit}&${filter}${cursor}`);
        seen.push(...body.items);
        if (body.nextCursor === null) break;
        cursor = `&cursor=${body.nextCursor}`;
        await indexEvents(sql, 2);
        await write(organization, "test.later", "later");
      }
      expect(seen).toEqual(expected);
    }
  });

  // An embedded database is one session: nothing happens beside its transaction.
  if (Bun.env.TEST_DATABASE_URL)
    test("200 in the order of ids, where a transaction writes an event and ends after later ones have moved", async () => {
      const organization = await newOrganization();
      await sql.begin(async (tx) => {
        await tx`${audit(tx, organization.scope, "test.one", tx`select 'early'::text, '{}'::jsonb`)}`;
        await write(organization, "test.one", "late");
        await indexEvents(sql, ALL);
        expect((await list(organization, "action=test.one")).map(({ targetId }) => targetId)).toEqual(["late"]);
      });
      expect(await placesOf(organization)).toMatchObject({ tail: 1 });
      expect((await list(organization, "action=test.one")).map(({ targetId }) => targetId)).toEqual(["late", "early"]);
      await indexEvents(sql, ALL);
      expect((await list(organization, "action=test.one")).map(({ targetId }) => targetId)).toEqual(["late", "early"]);
    });

  test("200 with each event once, where several processes move them at the same time as requests write", async () => {
    const organization = await newOrganization();
    const before = (await placesOf(organization)).tail;
    let isWriting = true;
    async function move() {
      while (isWriting) await indexEvents(sql, 7);
    }
    const movers = [move(), move(), move()];
    for (let index = 0; index < 20; index++) await Promise.all([writeMany(organization, "test.many", 10), write(organization, "test.one", `${index}`)]);
    isWriting = false;
    await Promise.all(movers);
    const { tail, indexed } = await placesOf(organization);
    expect(tail + indexed).toBe(before + 220);
    await indexEvents(sql, ALL);
    expect(await placesOf(organization)).toEqual({ tail: 0, indexed: before + 220 });
  });
});

describe("a turn of the job", () => {
  test("reads no more of the tail than it moves, so that a long tail is moved no slower", async () => {
    await writeMany(await newOrganization(), "test.many", 10);
    const [statement] = await statementsDuring(() => indexEvents(sql, 0), /audit_tail/);
    const plan = await sql.unsafe(`explain (analyze, costs off, timing off, summary off) ${statement?.text}`, [3]);
    const lines = plan.map((line) => String(line["QUERY PLAN"])).filter((line) => line.includes("Scan on audit_tail tail"));
    expect(lines).toEqual([expect.stringMatching(/Seq Scan on audit_tail tail \(actual rows=3(\.00)? /)]);
  });

  test("is planned for the tail as it is, not as it was at earlier turns", async () => {
    const session = await sql.reserve();
    try {
      for (let turn = 0; turn < 10; turn++) await indexEvents(session, ALL);
      expect([...(await session`select from pg_prepared_statements where generic_plans > 0 and statement ~ '^\\s*with turn '`)]).toEqual([]);
    } finally {
      session.release();
    }
  });
});
