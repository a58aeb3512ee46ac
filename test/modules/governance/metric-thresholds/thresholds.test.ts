import { describe, expect, test } from "bun:test";
import { call } from "../../../support/server/call";
import { dispatch } from "../../../support/server/dispatching";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { runJob } from "../../notifications/events/causes";

const PATH = "/ai-governance/metric-thresholds";
const RANGE = { system: "support-bot", metric: "error_rate", min: 0, max: 0.05 };

const create = (organization: TestOrganization, body: unknown = RANGE) => organization.admin("POST", PATH, { body });

async function withThreshold(body: object = RANGE) {
  const organization = await newOrganization();
  const created = await create(organization, body);
  expect(created).toMatchObject({ status: 201 });
  return { organization, created: created.body, path: `${PATH}/${created.body.id}` };
}

describe("POST /organizations/{organizationId}/ai-governance/metric-thresholds", () => {
  test("403 for an ORG_MEMBER, before the body is looked at", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", PATH, { body: { nonsense: 1 } })).status).toBe(403);
  });

  test.each([
    [{}, "body.system is required."],
    [{ ...RANGE, system: "Support Bot" }, "body.system must be the key of an AI system: lower-case letters, digits, dots, dashes and underscores."],
    [{ ...RANGE, metric: " " }, "body.metric must be text of 1 to 200 characters, without NUL."],
    [{ ...RANGE, metric: "a\u0000b" }, "body.metric must be text of 1 to 200 characters, without NUL."],
    [{ ...RANGE, min: "0" }, "body.min must be a number."],
    [{ ...RANGE, max: null }, "body.max must be a number."],
    [{ ...RANGE, min: 1 }, "body.min must not be greater than max."],
    [{ system: "support-bot", metric: "error_rate" }, "body must have min, max or both: nothing is outside of a range without an end."],
    [{ ...RANGE, labels: {} }, "body.labels is not a known field."],
  ])("400 for %j", async (body, message) => {
    const organization = await newOrganization();
    expect(await create(organization, body)).toMatchObject({ status: 400, body: { message } });
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
  });

  test("400 for a number that no double holds", async () => {
    const organization = await newOrganization();
    const raw = JSON.stringify(RANGE).replace("0.05", "1e999");
    expect((await organization.admin("POST", PATH, { raw, headers: { "content-type": "application/json" } })).status).toBe(400);
  });

  test("409 for a second one of a metric, and beyond two hundred", async () => {
    const { organization } = await withThreshold();
    expect(await create(organization, { ...RANGE, max: 1 })).toMatchObject({ status: 409, body: {} });
    await world.sql`
      insert into metric_thresholds (organization_id, id, system, metric, min) select ${organization.id}, new_id(), 'support-bot', 'm' || i, 0 from generate_series(1, 199) i`;
    expect(await create(organization, { ...RANGE, metric: "latency" })).toMatchObject({ status: 409, body: {} });
  });

  test("201 with its place and tag, and an audit event", async () => {
    const organization = await newOrganization();
    const { status, body, headers } = await create(organization);
    expect([status, headers.get("location"), headers.get("etag")]).toEqual([201, `/organizations/${organization.id}${PATH}/${body.id}`, '"1"']);
    expect(body).toMatchObject({ ...RANGE, isOutside: false, judgedAt: null, version: 1 });
    expect((await organization.member("GET", `${PATH}/${body.id}`)).body).toEqual(body);
    const { items } = (await organization.admin("GET", "/audit-events?action=metric-threshold.created")).body;
    expect(items).toMatchObject([{ targetId: body.id, details: RANGE }]);
  });
});

describe("GET /organizations/{organizationId}/ai-governance/metric-thresholds", () => {
  test("200 newest first, in pages", async () => {
    const { organization, created } = await withThreshold();
    const { body: second } = await create(organization, { ...RANGE, metric: "latency" });
    const first = (await organization.member("GET", `${PATH}?limit=1`)).body;
    expect(first.items).toEqual([second]);
    expect((await organization.member("GET", `${PATH}?limit=1&cursor=${first.nextCursor}`)).body).toEqual({ items: [created], nextCursor: null });
    expect((await organization.member("GET", `${PATH}?cursor=x`)).status).toBe(400);
  });

  test("404 for another organization's and for what is no id", async () => {
    const [{ path }, other] = [await withThreshold(), await newOrganization()];
    for (const each of [path, `${PATH}/x`]) {
      expect((await other.admin("GET", each)).status).toBe(404);
      expect((await other.admin("PATCH", each, { body: { max: 1 } })).status).toBe(404);
      expect((await other.admin("DELETE", each)).status).toBe(404);
    }
  });
});

describe("PATCH and DELETE /organizations/{organizationId}/ai-governance/metric-thresholds/{thresholdId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withThreshold();
    expect((await organization.member("PATCH", path, { body: { max: 1 } })).status).toBe(403);
    expect((await organization.member("DELETE", path)).status).toBe(403);
  });

  test.each([
    [{}, "The body must have at least 1 of its fields."],
    [{ metric: "latency" }, "body.metric is not a known field."],
    [{ min: 1 }, "body.min must not be greater than max."],
    [{ min: null, max: null }, "body must have min, max or both: nothing is outside of a range without an end."],
  ])("400 for %j, and nothing changes", async (body, message) => {
    const { organization, path, created } = await withThreshold();
    expect(await organization.admin("PATCH", path, { body })).toMatchObject({ status: 400, body: { message } });
    expect((await organization.admin("GET", path)).body).toEqual(created);
  });

  test("412 for a stale If-Match; 200 changes what is named; what changes nothing keeps the version", async () => {
    const { organization, path, created } = await withThreshold();
    const patch = (body: object, tag?: string) => organization.admin("PATCH", path, { body, ...(tag && { headers: { "if-match": tag } }) });
    expect((await patch({ max: 1 }, '"7"')).status).toBe(412);
    expect(await patch({ max: 0.05 }, '"1"')).toMatchObject({ status: 200, body: created });
    expect(await patch({ max: 1, min: null }, '"1"')).toMatchObject({ status: 200, body: { min: null, max: 1, version: 2 } });
    expect((await organization.admin("DELETE", path, { headers: { "if-match": '"1"' } })).status).toBe(412);
    expect((await organization.admin("DELETE", path, { headers: { "if-match": '"2"' } })).status).toBe(204);
    expect((await organization.admin("GET", path)).status).toBe(404);
    const { items } = (await organization.admin("GET", "/audit-events?limit=100")).body;
    const actions = items.map(({ action }: { action: string }) => action).filter((each: string) => each.startsWith("metric-threshold"));
    expect(actions).toEqual(["metric-threshold.deleted", "metric-threshold.updated", "metric-threshold.created"]);
  });
});

describe("a metric", () => {
  async function withMetric() {
    const setting = await withThreshold({ ...RANGE, min: undefined });
    const admin = await setting.organization.join();
    let count = 0;
    const begun = Date.now() - 3_600_000;
    const nextMoment = () => new Date(begun + 1_000 * ++count).toISOString();
    const send = async (...values: number[]) => {
      const samples = values.map((value) => ({
        metric: "error_rate",
        value,
        recordedAt: nextMoment(),
        labels: { region: `${value}` },
      }));
      const path = `/organizations/${setting.organization.id}/ai-governance/ingest/metrics`;
      expect((await call("POST", path, { body: { system: "support-bot", samples } })).status).toBe(202);
    };
    const states = async () => {
      await runJob("watch-metrics");
      await dispatch();
      const { body } = await admin.call("GET", "/users/me/notifications/inbox");
      return body.items.map(({ state, data }: { state: string; data: { items: { value: number }[] } }) => `${data.items[0]?.value} ${state}`);
    };
    const isOutside = async () => (await setting.organization.admin("GET", setting.path)).body.isOutside;
    return { ...setting, send, states, isOutside };
  }

  test("is one notice while it is outside of its range, and another when it leaves it again", async () => {
    const { send, states, isOutside } = await withMetric();
    await send(0.01);
    expect([await states(), await isOutside()]).toEqual([[], false]);
    await send(0.01, 0.09);
    expect([await states(), await isOutside()]).toEqual([["0.09 open"], true]);
    await send(0.08);
    expect(await states()).toEqual(["0.09 open"]);
    await send(0.05);
    expect([await states(), await isOutside()]).toEqual([["0.09 cleared"], false]);
    await send(0.06);
    expect(await states()).toEqual(["0.06 open", "0.09 cleared"]);
  });

  test("is a notice when it leaves its range and comes back between two turns", async () => {
    const { send, states } = await withMetric();
    await send(0.01);
    await states();
    await send(0.07, 0.01);
    expect(await states()).toEqual(["0.07 cleared"]);
  });

  test("that was outside before there was a range is judged by its newest sample; a new range, too", async () => {
    const { organization, path, send, states } = await withMetric();
    await send(0.09, 0.01);
    expect(await states()).toEqual([]);
    await organization.admin("PATCH", path, { body: { max: 0.001 } });
    expect(await states()).toEqual(["0.01 open"]);
    await organization.admin("PATCH", path, { body: { max: 0.02 } });
    expect(await states()).toEqual(["0.01 cleared"]);
  });

  test("has no state any more when its range is deleted", async () => {
    const { organization, path, send, states } = await withMetric();
    await send(0.09);
    expect(await states()).toEqual(["0.09 open"]);
    await organization.admin("DELETE", path);
    expect(await states()).toEqual(["0.09 cleared"]);
  });
});
