import { describe, expect, test } from "bun:test";
import { type Actor, audit } from "#modules/people/audit/queries";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { prepare } from "../../../support/server/prepare";
import { world } from "../../../support/server/world";

type Event = { id: string; at: string; action: string; targetId: string };

/** Writes an event at a moment, its id of the same moment. */
async function write({ scope }: TestOrganization, action: string, targetId: string, actor: Actor = scope.actor) {
  await world.sql`${audit(world.sql, { ...scope, actor }, action, world.sql`select ${targetId}::text, '{}'::jsonb`)}`;
}

async function list(organization: TestOrganization, query: string) {
  const { status, body } = await organization.admin("GET", `/audit-events?${query}`);
  expect(status).toBe(200);
  return body.items as Event[];
}

const targetsOf = (events: Event[]) => events.map((each) => each.targetId);

describe("GET /organizations/{organizationId}/audit-events with filters", () => {
  test("400 for from after to, and for an actor that is none", async () => {
    const { admin } = await newOrganization();
    expect(await admin("GET", "/audit-events?from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z")).toMatchObject({
      status: 400,
      body: { message: "query.from must not be after query.to." },
    });
    const message = expect.stringMatching(/^query\.actor must be an id \(a UUID\) or one of user, /);
    expect(await admin("GET", "/audit-events?actor=ada")).toMatchObject({ status: 400, body: { message } });
    expect(await admin("GET", "/audit-events?from=yesterday")).toMatchObject({ status: 400 });
    expect(await admin("GET", "/audit-events?action=")).toMatchObject({ status: 400 });
  });

  test("200 by action, actor and target, each alone and together", async () => {
    const organization = await newOrganization();
    const [ada, bob] = [crypto.randomUUID(), crypto.randomUUID()];
    await write(organization, "test.made", "1", { type: "user", id: ada });
    await write(organization, "test.made", "2", { type: "user", id: bob });
    await write(organization, "test.gone", "2", { type: "user", id: ada });
    await write(organization, "test.gone", "3", { type: "worker" });
    expect(targetsOf(await list(organization, "action=test.made"))).toEqual(["2", "1"]);
    expect(targetsOf(await list(organization, `actor=${ada.toUpperCase()}`))).toEqual(["2", "1"]);
    expect(targetsOf(await list(organization, "actor=worker"))).toEqual(["3"]);
    expect(targetsOf(await list(organization, "targetId=2"))).toEqual(["2", "2"]);
    expect(targetsOf(await list(organization, `actor=${ada}&action=test.gone&targetId=2`))).toEqual(["2"]);
    expect(await list(organization, `actor=${bob}&action=test.gone`)).toEqual([]);
    expect(await list(organization, "actor=agent")).toEqual([]);
  });

  test("200 by time: from is part of it, to is not", async () => {
    const organization = await newOrganization();
    for (const name of ["1", "2", "3"]) {
      await write(organization, "test.made", name);
      await Bun.sleep(5);
    }
    const [third, second, first] = await list(organization, "action=test.made");
    if (!first || !second || !third) throw new Error("there must be three");
    const between = (from: string, to: string) => list(organization, `action=test.made&from=${from}&to=${to}`).then(targetsOf);
    expect(await between(first.at, third.at)).toEqual(["2", "1"]);
    expect(await between(second.at, second.at)).toEqual([]);
    expect(targetsOf(await list(organization, `action=test.made&from=${second.at}`))).toEqual(["3", "2"]);
    expect(targetsOf(await list(organization, `to=${second.at}&action=test.made`))).toEqual(["1"]);
    expect(await list(organization, "to=1960-01-01T00:00:00Z")).toEqual([]);
    expect(await list(organization, "from=9999-01-01T00:00:00%2B01:00")).toEqual([]);
  });

  test("200 for an event whose transaction began before `to` and wrote it later", async () => {
    const organization = await newOrganization();
    await world.sql.begin(async (tx) => {
      await tx`select pg_sleep(0.05)`;
      await tx`${audit(tx, organization.scope, "test.late", tx`select 'late'::text, '{}'::jsonb`)}`;
    });
    const [{ at } = { at: "" }] = await list(organization, "action=test.late");
    const justAfter = new Date(Date.parse(at) + 1).toISOString();
    expect(targetsOf(await list(organization, `action=test.late&from=${at}&to=${justAfter}`))).toEqual(["late"]);
  });

  test("200 page by page with filters: each event once, and none of those that come meanwhile", async () => {
    const organization = await newOrganization();
    for (let index = 0; index < 7; index++) await write(organization, index % 2 === 0 ? "test.even" : "test.odd", String(index));
    const seen: string[] = [];
    let cursor = "";
    do {
      const { body } = await organization.admin("GET", `/audit-events?action=test.even&limit=2${cursor}`);
      seen.push(...targetsOf(body.items));
      cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
      await write(organization, "test.even", "new");
    } while (cursor !== "");
    expect(seen).toEqual(["6", "4", "2", "0"]);
  });

  test("200 from the index that serves the filter, in its order", async () => {
    const organization = await newOrganization();
    await prepare(async (sql) => {
      await sql`
      insert into audit_events (organization_id, id, actor, action, target_type, target_id)
      select ${organization.id}, new_id(), json_build_object('type', case when i % 100 = 0 then 'worker' else 'user' end, 'id', md5((i % 100)::text)::uuid),
        'action-' || i % 50, 'test', i % 500 from generate_series(1, 20000) as i`;
      await sql`analyze audit_events`;
    });
    const scans: string[] = [];
    for (const query of ["action=action-7", `actor=${crypto.randomUUID()}`, "actor=worker", "targetId=7", "from=2030-01-01T00:00:00Z", ""])
      scans.push(await scanOf(organization, query));
    expect(scans).toEqual([
      "audit_events_action_index",
      "audit_events_actor_id_index",
      "audit_events_actor_type_index",
      "audit_events_target_index",
      "audit_events_organization_id_id_pk",
      "audit_events_organization_id_id_pk",
    ]);
  });

  test("200 page by page through the events of one write, of others meanwhile, and of a release that noted no writes", async () => {
    const organization = await newOrganization();
    const { scope, admin } = organization;
    const writeMany = (action: string, prefix: string) =>
      audit(world.sql, scope, action, world.sql`select ${prefix}::text || i, '{}'::jsonb from generate_series(1, 5) as i`);
    await world.sql`${writeMany("test.many", "a")}`;
    await write(organization, "test.other", "x");
    await world.sql`with one as (${writeMany("test.many", "b")}), other as (${writeMany("test.other", "y")}) select`;
    await world.sql`
      insert into audit_events (organization_id, id, actor, action, target_type, target_id)
      select ${organization.id}, new_id(), ${JSON.stringify(scope.actor)}::jsonb, 'test.many', 'test', 'old' || i from generate_series(1, 3) as i`;
    const all = await list(organization, "limit=100");
    expect(all.map((each) => each.id)).toEqual(
      all
        .map((each) => each.id)
        .toSorted()
        .toReversed(),
    );
    const ofMany = all.filter((each) => each.action === "test.many");
    expect(targetsOf(ofMany)).toEqual(["old3", "old2", "old1", "b5", "b4", "b3", "b2", "b1", "a5", "a4", "a3", "a2", "a1"]);
    for (const limit of [1, 2, 3, 5, 100]) {
      const seen: Event[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await admin("GET", `/audit-events?action=test.many&limit=${limit}${cursor}`);
        seen.push(...body.items);
        if (body.nextCursor === null) break;
        cursor = `&cursor=${body.nextCursor}`;
      }
      expect(seen).toEqual(ofMany);
    }
    expect(targetsOf(await list(organization, "action=test.many&targetId=b3"))).toEqual(["b3"]);
    expect(targetsOf(await list(organization, `action=test.other&actor=${scope.actor.type}`))).toEqual(["y5", "y4", "y3", "y2", "y1", "x"]);
  });
});

/** The index that the list is read from, backwards; it throws where rows are sorted or the whole table is read. */
async function scanOf(organization: TestOrganization, query: string) {
  const statements: { text: string; parameters: unknown[] }[] = [];
  const debug = (_: number, text: string, parameters: unknown[]) => void statements.push({ text, parameters });
  Object.assign(world.sql.options, { debug });
  await list(organization, query);
  Object.assign(world.sql.options, { debug: false });
  const { text = "", parameters = [] } = statements.find((each) => each.text.includes("audit_events") && each.parameters.includes(organization.id)) ?? {};
  const lines = await world.sql.unsafe(`explain (costs off) ${text}`, parameters as string[]);
  const tail = /^ *-> {2}Sort\n *Sort Key: .*\n *-> {2}Seq Scan on audit_tail/gm; // as short as a second
  const pages = /^ *-> {2}Sort\n *Sort Key: "\*SELECT\* 1"\.id DESC\n( *-> {2}Result\n)? *-> {2}Append\n.*Subquery Scan on "\*SELECT\* 1"\n *-> {2}Limit$/gm; // a page of each, merged
  const plan = lines
    .map((line) => String(line["QUERY PLAN"]))
    .join("\n")
    .replaceAll(tail, "")
    .replaceAll(pages, "");
  const index = /Index (?:Only )?Scan Backward using (\w+) on audit_events/.exec(plan)?.[1];
  // Sorting a write at a time is what an incremental sort does.
  if (!index || /^[ >-]*Sort$|Seq Scan|Bitmap/m.test(plan)) throw new Error(plan);
  return index;
}
