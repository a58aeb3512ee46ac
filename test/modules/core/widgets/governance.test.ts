import { describe, expect, test } from "bun:test";
import { controlsOf } from "#modules/governance/frameworks/rules/catalogue";
import { show } from "../../../support/server/dashboards";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const controls = controlsOf("nist");
const before = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

/** What a control's status was, from the first change to the last. */
async function live({ id }: TestOrganization, index: number, framework: string, ...changes: [status: string, days: number][]) {
  const controlId = controlsOf(framework as "nist")[index]?.id ?? "";
  for (const [version, [status, days]] of changes.entries())
    await world.sql`
      insert into control_changes (organization_id, control_id, version, status, evidence, actor, at)
      values (${id}, ${controlId}, ${version + 1}, ${status}, '[]', '{}', ${before(days)})`;
  await world.sql`
    insert into controls (organization_id, control_id, framework, status, version) values (${id}, ${controlId}, ${framework}, ${changes.at(-1)?.[0] ?? ""}, ${changes.length})`;
}

async function measured() {
  const organization = await newOrganization();
  await live(organization, 0, "nist", ["in_progress", 60], ["implemented", 20]);
  await live(organization, 1, "nist", ["in_progress", 20], ["not_started", 3]);
  await live(organization, 2, "nist", ["not_applicable", 400]);
  await live(organization, 0, "iso", ["implemented", 5]);
  return organization;
}

describe("GET /organizations/{organizationId}/core/widgets/{widgetId}/data of governance", () => {
  test("200 how far a framework is, whole and by group", async () => {
    const organization = await measured();
    const progress = await show(organization, "framework_compliance_progress", { frameworkKey: "nist" });
    const counts = { not_started: controls.length - 2, in_progress: 0, implemented: 1, not_applicable: 1 };
    expect(progress).toMatchObject({ frameworkKey: "nist", total: controls.length, counts, percent: Math.floor(100 / (controls.length - 1)) });
    expect(progress.groups.map((each: { name: string }) => each.name)).toEqual([...new Set(controls.map((each) => each.group))]);
    expect(progress.groups.reduce((sum: number, each: { total: number }) => sum + each.total, 0)).toBe(controls.length);
    const settings = { frameworkKey: "nist", groupBy: "none", countNotApplicable: true };
    expect(await show(organization, "framework_compliance_progress", settings)).toMatchObject({ groups: [], percent: Math.floor(200 / controls.length) });
    const empty = await show(await newOrganization(), "framework_compliance_progress", { frameworkKey: "euaiact" });
    expect(empty).toMatchObject({ percent: 0, counts: { implemented: 0 } });
  });

  test("200 how the statuses became what they are", async () => {
    const organization = await measured();
    const rest = controls.length;
    const asked = Date.now();
    const { points } = await show(organization, "control_status_trend", { frameworkKey: "nist", rangeDays: 90, bucket: "day" });
    expect(points).toHaveLength(91);
    const at = (days: number) => points.find((each: { at: string }) => each.at > before(days));
    expect(at(80)).toMatchObject({ not_started: rest - 1, in_progress: 0, implemented: 0, not_applicable: 1 });
    expect(at(40)).toMatchObject({ not_started: rest - 2, in_progress: 1, implemented: 0, not_applicable: 1 });
    expect(at(10)).toMatchObject({ not_started: rest - 3, in_progress: 1, implemented: 1, not_applicable: 1 });
    expect(points.at(-1)).toMatchObject({ not_started: rest - 2, in_progress: 0, implemented: 1, not_applicable: 1 });
    expect(Date.parse(points.at(-1).at)).toBeWithin(asked, Date.now() + 1);
    for (const bucket of ["week", "month"]) {
      const trend = await show(organization, "control_status_trend", { frameworkKey: "nist", rangeDays: 730, bucket });
      expect({ bucket, last: trend.points.at(-1) }).toEqual({ bucket, last: expect.objectContaining({ implemented: 1, in_progress: 0, not_applicable: 1 }) });
      expect(trend.points[0]).toMatchObject({ not_started: rest, not_applicable: 0 });
    }
  });

  test("200 a line for each system and metric, as the settings say", async () => {
    const organization = await newOrganization();
    const [chat, search] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
    await world.sql`insert into ai_systems (organization_id, id, key) values (${organization.id}, ${chat}, 'chat'), (${organization.id}, ${search}, 'search')`;
    const base = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 5 * 3_600_000;
    const samples = [
      [0, 1],
      [10, 2],
      [20, 9],
      [90, 1e308],
      [91, 1.5e308],
    ].map(([minutes = 0, value = 0], index) => ({ at: new Date(base + minutes * 60_000), value, index }));
    for (const { at, value, index } of samples)
      await world.sql`
        insert into metric_samples (organization_id, system_id, metric, recorded_at, labels, labels_hash, value)
        values (${organization.id}, ${chat}, 'latency', ${at.toISOString()}, '{}', ${index}, ${value})`;
    const settings = { systemIds: ["chat", search, "unknown"], metrics: ["latency", "drift"] };
    const values = async (aggregation: string) => {
      const data = await show(organization, "ai_metric_time_series", { ...settings, aggregation, upperLimit: 5 });
      expect(data).toMatchObject({
        stepSeconds: 3_600,
        aggregation,
        lowerLimit: null,
        upperLimit: 5,
        series: [{ systemId: chat, system: "chat", metric: "latency" }],
      });
      expect(data.series[0].points.map((each: { at: string }) => each.at)).toEqual([0, 1].map((hours) => new Date(base + hours * 3_600_000).toISOString()));
      return data.series[0].points.map((each: { value: number }) => each.value);
    };
    expect(await values("avg")).toEqual([4, 1.25e308]);
    expect(await values("min")).toEqual([1, 1e308]);
    expect(await values("max")).toEqual([9, 1.5e308]);
    expect(await values("p95")).toEqual([9, 1.5e308]);
    expect(await values("last")).toEqual([9, 1.5e308]);
    const byId = await show(organization, "ai_metric_time_series", { systemIds: [chat.toUpperCase()], metrics: ["latency"], rangeHours: 8_760 });
    expect(byId).toMatchObject({ stepSeconds: 172_800, series: [{ systemId: chat }] });
    expect((await show(organization, "ai_metric_time_series", { ...settings, rangeHours: 1 })).series).toEqual([]);
    expect((await show(await newOrganization(), "ai_metric_time_series", settings)).series).toEqual([]);
  });
});
