import { describe, expect, test } from "bun:test";
import { maintainPartitions } from "#jobs/partitions";
import { makePartitions } from "#modules/governance/ai-systems/queries/partitions";
import { world } from "../../../support/server/world";
import { batch, countOf, newSender, sample } from "./senders";

const partitionsOf = async (organizationId: string) => {
  const rows = await world.sql<{ partition: string; count: number }[]>`
    select tableoid::regclass::text as partition, count(*)::int as count from metric_samples where organization_id = ${organizationId} group by 1 order by 1`;
  return Object.fromEntries(rows.map((each) => [each.partition, each.count]));
};

describe("makePartitions", () => {
  test("makes this month and the next ones, once", async () => {
    const now = new Date("2025-11-30T23:59:59Z");
    expect(await makePartitions(world.sql, now, 3)).toEqual([
      "metric_samples_2025_11",
      "metric_samples_2025_12",
      "metric_samples_2026_01",
      "metric_samples_2026_02",
    ]);
    expect(await makePartitions(world.sql, now, 3)).toEqual([]);
    expect(await makePartitions(world.sql, new Date("2025-12-01T00:00:00Z"), 3)).toEqual(["metric_samples_2026_03"]);
  });

  test("moves what the default partition took meanwhile, and none is lost, doubled or taken twice", async () => {
    const { organization, send } = await newSender();
    const times = ["2025-06-30T23:59:59.999Z", "2025-07-01T00:00:00Z", "2025-07-31T23:59:59.999Z", "2025-08-01T00:00:00Z"];
    const all = batch(...times.map((recordedAt) => sample({ recordedAt })));
    await send(all);
    expect(await partitionsOf(organization.id)).toEqual({ metric_samples_default: 4 });
    expect(await makePartitions(world.sql, new Date("2025-07-15T00:00:00Z"), 0)).toEqual(["metric_samples_2025_07"]);
    expect(await partitionsOf(organization.id)).toEqual({ metric_samples_default: 2, metric_samples_2025_07: 2 });
    expect((await send(all)).body).toEqual({ accepted: 0, duplicates: 4 });
    expect((await send(batch(sample({ recordedAt: "2025-07-20T12:00:00Z" })))).body.accepted).toBe(1);
    expect(await countOf(organization)).toBe(5);
  });

  test("ten at once, while samples come, make each partition once and lose nothing", async () => {
    const { organization, send } = await newSender();
    const makers = Array.from({ length: 10 }, () => makePartitions(world.sql, new Date("2025-09-10T00:00:00Z"), 1));
    const sent = Array.from({ length: 40 }, (_, index) =>
      send(batch(sample({ recordedAt: `2025-09-${String((index % 28) + 1).padStart(2, "0")}T00:00:${index + 10}Z` }))),
    );
    const made = (await Promise.all(makers)).flat();
    expect(made.toSorted()).toEqual(["metric_samples_2025_09", "metric_samples_2025_10"]);
    for (const answer of await Promise.all(sent)) expect(answer).toMatchObject({ status: 202, body: { accepted: 1 } });
    expect(await partitionsOf(organization.id)).toEqual({ metric_samples_2025_09: 40 });
  });

  test("a query reads only the months that it asks for", async () => {
    await makePartitions(world.sql, new Date("2026-04-10T00:00:00Z"), 2);
    const rows = await world.sql.unsafe(`
      explain select * from metric_samples where organization_id = '${crypto.randomUUID()}' and system_id = '${crypto.randomUUID()}' and metric = 'accuracy'
        and recorded_at >= '2026-05-03T00:00:00Z' and recorded_at < '2026-05-04T00:00:00Z'`);
    const plan = rows.map((each) => each["QUERY PLAN"]).join("\n");
    expect(plan).toContain("metric_samples_2026_05");
    expect(plan).not.toMatch(/metric_samples_2026_0[46]|Seq Scan/);
  });
});

describe("the daily job", () => {
  test("makes the months to come, forgets deliveries of more than thirty days, and runs again without harm", async () => {
    const { organization, signed } = await newSender();
    for (const id of ["old", "young"]) await signed(batch(), { id });
    await world.sql`update webhook_deliveries set received_at = received_at - interval '31 days' where organization_id = ${organization.id} and webhook_id = 'old'`;
    const month = new Date().toISOString().slice(0, 7).replace("-", "_"); // before the job, which makes the next ones too
    for (const _ of [1, 2]) await maintainPartitions(world.deps);
    const kept = await world.sql`select webhook_id from webhook_deliveries where organization_id = ${organization.id}`;
    expect(kept.map((each) => each.webhook_id)).toEqual(["young"]);
    const [made] = await world.sql`select to_regclass(${`metric_samples_${month}`}) as name`;
    expect(made?.name).toBe(`metric_samples_${month}`);
  });
});
