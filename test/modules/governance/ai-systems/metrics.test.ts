import { describe, expect, test } from "bun:test";
import { startWith } from "../../../auth/servers";
import { call } from "../../../support/server/call";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { batch, newSender, sample } from "./senders";

const METRICS = "/ai-governance/metrics";
const get = (organization: TestOrganization, query: object) =>
  organization.member("GET", `${METRICS}?${new URLSearchParams({ system: "loan-scoring", metric: "accuracy", ...query })}`);
const day = { from: "2026-01-02T00:00:00Z", to: "2026-01-03T00:00:00Z" };
const at = (time: string, value: number, more: object = {}) => sample({ recordedAt: `2026-01-02T${time}Z`, value, ...more });

describe("GET /organizations/{organizationId}/ai-governance/metrics", () => {
  test("403 without organization headers, 401 for a token that proves nothing", async () => {
    const organization = await newOrganization();
    expect((await call("GET", `/organizations/${organization.id}${METRICS}`)).status).toBe(403);
    expect(await organization.member("GET", METRICS, { token: "x" })).toMatchObject({ status: 401, body: "" });
  });

  test.each<[object, string]>([
    [{ system: "" }, "query.system must be the key of an AI system: lower-case letters, digits, dots, dashes and underscores."],
    [{ system: "Loan Scoring" }, "query.system must be the key of an AI system: lower-case letters, digits, dots, dashes and underscores."],
    [{ metric: " " }, "query.metric must be text of 1 to 200 characters, without NUL."],
    [{ metric: "a\0b" }, "query.metric must be text of 1 to 200 characters, without NUL."],
    [{ metric: "x".repeat(201) }, "query.metric must be text of 1 to 200 characters, without NUL."],
    [{ from: "yesterday" }, "query.from must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z."],
    [{ from: "2026-02-30T00:00:00Z" }, "query.from must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z."],
    [{ to: "2026-01-02" }, "query.to must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z."],
    [{ from: "1969-01-01T00:00:00Z" }, "query.from must not be before 1970."],
    [{ from: day.to, to: day.from }, "query.from must be before query.to."],
    [{ from: day.to, to: day.to }, "query.from must be before query.to."],
    [{ from: "9999-01-01T00:00:00Z" }, "query.from must be before query.to."],
    ...["0", "PT0S", "P", "PT", "", "-60", "1.5", "P1M", "P1Y", "1h", "pt1h", "PT1H30", "P367D", "999999999", "P999999999W"].map((step): [object, string] => [
      { step },
      "query.step must be seconds (300) or an ISO 8601 duration (PT5M, P1D), from one second to 366 days.",
    ]),
    [{ ...day, step: "x".repeat(41) }, "query.step must be text of 0 to 40 characters, without NUL."],
    [{ ...day, step: "8" }, "query.step must be longer: the range would have more than 10000 steps."],
    [{ from: "1970-01-01T00:00:00Z", step: "PT1H" }, "query.step must be longer: the range would have more than 10000 steps."],
  ])("400 for %j", async (query, message) => {
    expect(await get(await newOrganization(), query)).toMatchObject({ status: 400, body: { message } });
  });

  test.each(["system", "metric"])("400 without %s", async (name) => {
    const organization = await newOrganization();
    const query = new URLSearchParams({ system: "loan-scoring", metric: "accuracy" });
    query.delete(name);
    expect((await organization.member("GET", `${METRICS}?${query}`)).body).toEqual({ message: `query.${name} is required.` });
  });

  test("404 for a system that never sent anything, and for another organization's", async () => {
    const [organization, sender] = [await newOrganization(), await newSender()];
    await sender.send(batch());
    expect((await get(organization, {})).status).toBe(404);
    expect((await get(sender.organization, { system: "chat" })).status).toBe(404);
  });

  test("200 minimum, maximum, mean and count of each step that holds samples", async () => {
    const { organization, send } = await newSender();
    const values = [at("00:00:00", 1), at("00:59:59.999", 4), at("01:00:00", 10), at("03:30:00", -2), at("03:31:00", -4), at("23:59:59.999", 7)];
    await send(
      batch(...values, at("00:30:00", 100, { metric: "recall" }), sample({ recordedAt: day.to, value: 9 }), sample({ recordedAt: "2026-01-01T23:59:59.999Z" })),
    );
    await send({ ...batch(at("00:10:00", 50)), system: "chat" });
    const { status, body } = await get(organization, day);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        system: "loan-scoring",
        metric: "accuracy",
        unit: null,
        from: "2026-01-02T00:00:00.000Z",
        to: "2026-01-03T00:00:00.000Z",
        step: 3_600,
        items: [
          { at: "2026-01-02T00:00:00.000Z", min: 1, max: 4, mean: 2.5, count: 2 },
          { at: "2026-01-02T01:00:00.000Z", min: 10, max: 10, mean: 10, count: 1 },
          { at: "2026-01-02T03:00:00.000Z", min: -4, max: -2, mean: -3, count: 2 },
          { at: "2026-01-02T23:00:00.000Z", min: 7, max: 7, mean: 7, count: 1 },
        ],
      },
    });
  });

  test("200 steps are counted from the beginning of the range", async () => {
    const { organization, send } = await newSender();
    await send(batch(at("00:10:00", 1), at("00:20:00", 3), at("00:40:00", 5)));
    const { items } = (await get(organization, { from: "2026-01-02T00:07:30+00:00", to: "2026-01-02T02:00:00+01:00", step: "PT15M" })).body;
    expect(items.map((each: { at: string }) => each.at)).toEqual(["2026-01-02T00:07:30.000Z", "2026-01-02T00:37:30.000Z"]);
  });

  test.each([
    ["300", 300],
    ["PT5M", 300],
    ["PT90S", 90],
    ["P1DT12H30M10S", 131_410],
    ["P2W", 1_209_600],
    ["PT100M", 6_000],
    ["P366D", 31_622_400],
  ])("200 a step of %s", async (step, seconds) => {
    const { organization, send } = await newSender();
    await send(batch());
    expect((await get(organization, { ...day, step })).body).toMatchObject({ step: seconds, items: [{ count: 1 }] });
  });

  test("200 the last day in hours, unless the query says otherwise", async () => {
    const { organization, send } = await newSender();
    await send(batch(at("10:30:00", 1), at("12:30:00", 2)));
    await using server = startWith({}, () => new Date("2026-01-03T11:00:00Z"));
    const { body } = await call("GET", `/organizations/${organization.id}${METRICS}?system=loan-scoring&metric=accuracy`, {
      url: server.url,
      headers: organization.headers("ORG_MEMBER"),
    });
    expect(body).toMatchObject({
      from: "2026-01-02T11:00:00.000Z",
      to: "2026-01-03T11:00:00.000Z",
      step: 3_600,
      items: [{ at: "2026-01-02T12:00:00.000Z", count: 1 }],
    });
  });

  test("200 the unit when the samples agree on it, and no items for an unknown metric", async () => {
    const { organization, send } = await newSender();
    await send(batch(at("10:00:00", 1, { unit: "ms" }), at("11:00:00", 2, { unit: "ms" }), at("12:00:00", 2, { unit: "s" })));
    expect((await get(organization, { ...day, to: "2026-01-02T12:00:00Z" })).body.unit).toBe("ms");
    expect((await get(organization, day)).body.unit).toBeNull();
    expect((await get(organization, { ...day, metric: "recall" })).body).toMatchObject({ unit: null, items: [] });
  });

  test("200 ten thousand steps", async () => {
    const { organization, send } = await newSender();
    const start = Date.parse(day.from);
    await send(batch(...Array.from({ length: 10_000 }, (_, index) => sample({ recordedAt: new Date(start + index * 1_000).toISOString(), value: index }))));
    const { items } = (await get(organization, { from: day.from, to: new Date(start + 10_000_000).toISOString(), step: "1" })).body;
    expect(items).toHaveLength(10_000);
    expect(items[9_999]).toMatchObject({ min: 9_999, count: 1 });
  });

  test.each<[string, number[], number]>([
    ["the largest numbers", [Number.MAX_VALUE, Number.MAX_VALUE, Number.MAX_VALUE], Number.MAX_VALUE],
    ["the largest numbers of both signs", [Number.MAX_VALUE, -Number.MAX_VALUE], 0],
    ["large ones beside small ones", [1e300, Number.MIN_VALUE, -5, 0], 2.5e299],
    ["numbers whose squares are too large", [1e200, 3e200], 2e200],
    ["the smallest numbers", [Number.MIN_VALUE, Number.MIN_VALUE], Number.MIN_VALUE],
    ["the smallest numbers of both signs", [-Number.MIN_VALUE, Number.MIN_VALUE], 0],
    ["tenths", [0.1, 0.1, 0.1], 0.1],
  ])("200 the mean of %s", async (_, values, mean) => {
    const { organization, send } = await newSender();
    await send(batch(...values.map((value, index) => at(`10:00:0${index}`, value))));
    const [step] = (await get(organization, day)).body.items;
    expect(step).toMatchObject({ min: Math.min(...values), max: Math.max(...values), count: values.length });
    expect(Math.abs(step.mean - mean)).toBeLessThanOrEqual(Math.abs(mean) * 1e-15);
  });
});

describe("GET /organizations/{organizationId}/ai-governance/systems", () => {
  test.each(["?limit=0", "?limit=101", "?cursor=x", `?cursor=${Buffer.from('["A b"]').toString("base64url")}`])("400 for %s", async (query) => {
    expect((await (await newOrganization()).member("GET", `/ai-governance/systems${query}`)).status).toBe(400);
  });

  test("200 this organization's systems by key, page by page", async () => {
    const [sender, other] = [await newSender(), await newSender()];
    await other.send(batch());
    for (const system of ["b", "a.1", "c_x", "a-2", "0"]) await sender.send({ ...batch(), system });
    const keys: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { body } = await sender.organization.member("GET", `/ai-governance/systems?limit=2${cursor && `&cursor=${cursor}`}`);
      keys.push(...body.items.map((each: { key: string }) => each.key));
      cursor = body.nextCursor as string | null;
    }
    expect(keys.toSorted()).toEqual(["0", "a-2", "a.1", "b", "c_x"]);
    const whole = (await sender.organization.member("GET", "/ai-governance/systems")).body.items;
    expect(whole.map((each: { key: string }) => each.key)).toEqual(keys);
    expect(whole[0]).toEqual({ id: expect.any(String), key: "0", createdAt: expect.any(String), lastSampleAt: "2026-01-02T09:30:00.000Z" });
  });
});
