import { describe, expect, test } from "bun:test";
import { startWith } from "../../../auth/servers";
import { call } from "../../../support/server/call";
import { newOrganization } from "../../../support/server/people";
import { batch, countOf, newSender, pathOf, read, sample } from "./senders";

const TEXT = "must be text of 1 to 200 characters, without NUL.";
const KEY = "body.system must be the key of an AI system: lower-case letters, digits, dots, dashes and underscores.";
const LABELS = "body.samples.0.labels must be an object of at most 16 texts of 1 to 200 characters.";
const TIME = "body.samples.0.recordedAt must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z.";
const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`label-${index}`, `${index}`]));
const ahead = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

describe("POST /organizations/{organizationId}/ai-governance/ingest/metrics", () => {
  test.each<[unknown, string]>([
    [[], "The body must be an object."],
    [{}, "body.system is required."],
    [{ system: "loan-scoring" }, "body.samples is required."],
    [{ ...batch(), source: "x" }, "body.source is not a known field."],
    [{ ...batch(), system: "Loan Scoring" }, KEY],
    [{ ...batch(), system: "-loan" }, KEY],
    [{ ...batch(), system: "x".repeat(101) }, KEY],
    [{ ...batch(), system: "" }, KEY],
    [{ ...batch(), system: 5 }, KEY],
    [{ ...batch(), samples: {} }, "body.samples must be a list of 1 to 10000 items."],
    [{ ...batch(), samples: [] }, "body.samples must be a list of 1 to 10000 items."],
    [{ ...batch(), samples: [5] }, "body.samples.0 must be an object."],
    [batch({ value: 1 }), "body.samples.0.metric is required."],
    [batch({ metric: "accuracy" }), "body.samples.0.value is required."],
    [batch(sample({ id: 1 })), "body.samples.0.id is not a known field."],
    [batch(sample({ metric: " " })), `body.samples.0.metric ${TEXT}`],
    [batch(sample({ metric: "x".repeat(201) })), `body.samples.0.metric ${TEXT}`],
    [batch(sample({ metric: "a\0b" })), `body.samples.0.metric ${TEXT}`],
    [batch(sample({ metric: "\ud800" })), `body.samples.0.metric ${TEXT}`],
    [batch(sample({ unit: "" })), `body.samples.0.unit ${TEXT}`],
    [batch(sample({ unit: null })), `body.samples.0.unit ${TEXT}`],
    [batch(sample({ value: "0.9" })), "body.samples.0.value must be a number."],
    [batch(sample({ value: null })), "body.samples.0.value must be a number."],
    [batch(sample({ recordedAt: "yesterday" })), TIME],
    [batch(sample({ recordedAt: 1_700_000_000 })), TIME],
    [batch(sample({ recordedAt: "2026-02-30T00:00:00Z" })), TIME],
    [batch(sample({ recordedAt: "2026-01-02" })), TIME],
    [batch(sample({ recordedAt: "2026-01-02T09:30:00" })), TIME],
    [batch(sample({ recordedAt: "2026-01-02T09:30:00+23:00" })), TIME],
    [batch(sample({ recordedAt: "1969-12-31T23:59:59Z" })), "body.samples.0.recordedAt must not be before 1970."],
    [batch(sample({ recordedAt: "0000-01-01T00:00:00Z" })), TIME],
    [batch(sample({ recordedAt: ahead(310) })), "body.samples.0.recordedAt must not be more than five minutes ahead."],
    [batch(sample({ recordedAt: "9999-12-31T23:59:59Z" })), "body.samples.0.recordedAt must not be more than five minutes ahead."],
    [batch(sample({ labels: [] })), LABELS],
    [batch(sample({ labels: null })), LABELS],
    [batch(sample({ labels: labels(17) })), LABELS],
    [batch(sample({ labels: { host: 1 } })), LABELS],
    [batch(sample({ labels: { host: "" } })), LABELS],
    [batch(sample({ labels: { " ": "x" } })), LABELS],
    [batch(sample({ labels: { host: "a\0b" } })), LABELS],
    [batch(sample({ labels: { host: "x".repeat(201) } })), LABELS],
    [batch(sample({ labels: { host: "a", " host": "b" } })), "body.samples.0.labels must not name a label twice."],
  ])("400 for %j", async (body, message) => {
    const { organization, send } = await newSender();
    expect(await send(body)).toMatchObject({ status: 400, body: { message } });
    expect((await organization.admin("GET", "/ai-governance/systems")).body.items).toEqual([]);
  });

  test("400 for a number that is not finite, and for a webhook-id that is too long", async () => {
    const { organization, key, send } = await newSender();
    const raw = JSON.stringify(batch()).replace("0.93", "1e999");
    const answer = await call("POST", pathOf(organization), { raw, token: key, headers: { "content-type": "application/json" } });
    expect(answer).toMatchObject({ status: 400, body: { message: "body.samples.0.value must be a number." } });
    const long = await send(batch(), { "webhook-id": "x".repeat(201) });
    expect(long).toMatchObject({ status: 400, body: { message: "header webhook-id must be text of 1 to 200 characters, without NUL." } });
  });

  test("400 names the one bad sample among ten thousand, whatever is wrong, and none is stored", async () => {
    const { organization, send } = await newSender();
    const samples = Array.from({ length: 10_000 }, (_, index) => sample({ value: index, labels: labels(3) }));
    const faults = [{ value: "x" }, { metric: "" }, { labels: { a: 1 } }, { recordedAt: "x" }, { recordedAt: ahead(400) }, { odd: 1 }];
    for (const fault of faults) {
      const { status, body } = await send(batch(...samples.with(9_876, sample(fault))));
      expect(status).toBe(400);
      expect(body.message).toStartWith(`body.samples.9876.${Object.keys(fault)[0]} `);
    }
    expect((await send(batch(...samples, sample()))).body.message).toBe("body.samples must be a list of 1 to 10000 items.");
    expect((await organization.admin("GET", "/ai-governance/systems")).body.items).toEqual([]);
  });

  test("413 for over 8 MiB, 415 for what is no JSON", async () => {
    const { organization, key } = await newSender();
    const send = (raw: string, type = "application/json") => call("POST", pathOf(organization), { raw, token: key, headers: { "content-type": type } });
    expect((await send(JSON.stringify(batch()) + " ".repeat(8 * 1024 * 1024))).status).toBe(413);
    expect((await send(JSON.stringify(batch()) + " ".repeat(7 * 1024 * 1024))).status).toBe(202);
    expect((await send("metric=1", "application/x-www-form-urlencoded")).status).toBe(415);
  });

  test("202 the samples as they came, one audit event, and the system with its latest sample", async () => {
    const { organization, send } = await newSender();
    const answer = await send(
      batch(
        sample({ metric: " accuracy ", value: 0.5, unit: " ratio " }),
        sample({ recordedAt: "2026-01-02T11:45:00.123456+02:00", value: 0.7, unit: "ratio" }),
      ),
    );
    expect(answer).toMatchObject({ status: 202, body: { accepted: 2, duplicates: 0 } });
    expect(await read(organization)).toMatchObject([{ min: 0.5, max: 0.7, mean: 0.6, count: 2 }]);
    const [system] = (await organization.member("GET", "/ai-governance/systems")).body.items;
    expect(system).toMatchObject({ key: "loan-scoring", lastSampleAt: "2026-01-02T09:45:00.123456Z" });
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({
      action: "metrics.ingested",
      targetType: "ai-system",
      targetId: system.id,
      details: { system: "loan-scoring", accepted: 2, duplicates: 0 },
      requestId: answer.headers.get("x-request-id"),
    });
  });

  test("202 names who sent it: the key, or a gateway", async () => {
    const organization = await newOrganization();
    await call("POST", pathOf(organization), { body: batch() });
    const { id, key } = (await organization.admin("POST", "/ai-governance/ingest/keys", { body: { name: "A" } })).body;
    await call("POST", pathOf(organization), { body: batch(sample({ metric: "recall" })), token: key });
    const events = (await organization.admin("GET", "/audit-events")).body.items.filter((each: { action: string }) => each.action === "metrics.ingested");
    expect(events.map((each: { actor: unknown }) => each.actor)).toEqual([{ type: "ingest-key", id }, { type: "gateway" }]);
  });

  test("202 without recordedAt, the time is that of receipt on the server's clock", async () => {
    const { organization, key } = await newSender();
    await using server = startWith({}, () => new Date("2026-03-01T12:34:56.789Z"));
    const { recordedAt: _, ...undated } = sample();
    expect(
      (await call("POST", pathOf(organization), { body: batch(undated, sample({ recordedAt: "2026-03-01T12:39:56Z" })), token: key, url: server.url })).body,
    ).toEqual({ accepted: 2, duplicates: 0 });
    const { items } = (
      await organization.member("GET", "/ai-governance/metrics?system=loan-scoring&metric=accuracy&from=2026-03-01T12:34:56.789Z&to=2026-03-01T12:34:56.790Z")
    ).body;
    expect(items).toMatchObject([{ count: 1, at: "2026-03-01T12:34:56.789Z" }]);
  });

  test("202 any text and any number", async () => {
    const { organization, send } = await newSender();
    const odd = [`a "quoted" \\ {b,c} NULL 'd'; drop table x --`, "名前", "🦆", "a\nb", "null", "__proto__", "constructor", "{}"];
    const values = [Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, 0, 1e-300, 1e140, 0.1 + 0.2, 2 ** 53];
    const samples = odd.map((text, index) =>
      sample({ metric: text, unit: text, value: values[index], labels: { [text.replace("__proto__", "prototype")]: text } }),
    );
    expect((await send(batch(...samples))).body).toEqual({ accepted: odd.length, duplicates: 0 });
    for (const [index, metric] of odd.entries())
      expect(await read(organization, encodeURIComponent(metric))).toMatchObject([{ min: values[index], max: values[index], mean: values[index], count: 1 }]);
    expect(await countOf(organization)).toBe(0);
  });

  test("202 ten thousand samples of as many series", async () => {
    const { organization, send } = await newSender();
    const samples = Array.from({ length: 10_000 }, (_, index) => sample({ value: index, labels: { ...labels(15), host: `host-${index}` } }));
    expect((await send(batch(...samples))).body).toEqual({ accepted: 10_000, duplicates: 0 });
    expect(await read(organization)).toMatchObject([{ min: 0, max: 9_999, mean: 4_999.5, count: 10_000 }]);
  });
});
