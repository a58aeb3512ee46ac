import { describe, expect, test } from "bun:test";
import { world } from "../../../support/server/world";
import { batch, countOf, newSender, read, sample } from "./senders";

const many = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => sample({ value: index, labels: { host: `host-${index}` }, ...more }));
const { recordedAt: _, ...undated } = sample();

describe("POST …/ingest/metrics, sent again", () => {
  test("202 the same samples add nothing, and the first value stays", async () => {
    const { organization, send } = await newSender();
    expect((await send(batch(...many(10)))).body).toEqual({ accepted: 10, duplicates: 0 });
    expect((await send(batch(...many(12, { value: 99 })))).body).toEqual({ accepted: 2, duplicates: 10 });
    expect(await read(organization)).toMatchObject([{ count: 12, min: 0, max: 99 }]);
    const events = (await organization.admin("GET", "/audit-events")).body.items.filter((each: { action: string }) => each.action === "metrics.ingested");
    expect(events.map((each: { details: unknown }) => each.details)).toEqual([
      { system: "loan-scoring", accepted: 2, duplicates: 10 },
      { system: "loan-scoring", accepted: 10, duplicates: 0 },
    ]);
  });

  test("202 a sender that repeats, then does not, then does again loses and doubles nothing", async () => {
    const { organization, send, signed } = await newSender();
    const at = (minute: number) => sample({ recordedAt: `2026-01-02T09:${minute}:00.000Z` });
    const id = crypto.randomUUID();
    expect((await send(batch(at(10), at(11)))).body).toEqual({ accepted: 2, duplicates: 0 });
    expect((await signed(batch(at(12), at(13), at(11)), { id })).body).toEqual({ accepted: 2, duplicates: 1 });
    expect((await signed(batch(at(14)), { id })).body).toEqual({ accepted: 0, duplicates: 1 });
    for (const minute of [15, 16]) expect((await signed(batch(at(minute)))).body).toEqual({ accepted: 1, duplicates: 0 });
    expect((await send(batch(at(17), at(16)))).body).toEqual({ accepted: 1, duplicates: 1 });
    expect(await countOf(organization)).toBe(7);
    const [known] = (await organization.admin("GET", "/ai-governance/systems")).body.items;
    expect(known).toMatchObject({ key: "loan-scoring", lastSampleAt: "2026-01-02T09:17:00.000Z" });
    const [deliveries] = await world.sql`select count(*)::int from webhook_deliveries where organization_id = ${organization.id}`;
    expect(deliveries?.count).toBe(3);
  });

  test("202 what nothing new came with leaves no audit event", async () => {
    const { organization, send } = await newSender();
    await send(batch());
    await send(batch());
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items.filter((each: { action: string }) => each.action === "metrics.ingested")).toHaveLength(1);
  });

  test("202 twice in one batch counts once", async () => {
    const { send } = await newSender();
    const samples = [sample(), sample({ value: 2 }), sample({ unit: "ratio" }), sample({ recordedAt: "2026-01-02T10:30:00.0000001+01:00" })];
    expect((await send(batch(...samples))).body).toEqual({ accepted: 1, duplicates: 3 });
  });

  test("202 labels are the same in any order and however they are spaced, and different in any other way", async () => {
    const { send } = await newSender();
    const labelled = (labels: object) => sample({ labels });
    const samples = [labelled({ a: "1", b: "2" }), labelled({ b: "2", a: "1" }), labelled({ " a": "1 ", b: "2" })];
    expect((await send(batch(...samples))).body).toEqual({ accepted: 1, duplicates: 2 });
    const others = [
      sample(),
      labelled({ a: "1" }),
      labelled({ a: "2", b: "1" }),
      labelled({ a: "1", b: "2", c: "3" }),
      labelled({ A: "1", b: "2" }),
      labelled({}),
    ];
    expect((await send(batch(...others))).body).toEqual({ accepted: 5, duplicates: 1 });
  });

  test("202 another system, metric or time is another sample", async () => {
    const { send } = await newSender();
    await send(batch());
    expect((await send({ ...batch(), system: "chat" })).body.accepted).toBe(1);
    expect((await send(batch(sample({ metric: "Accuracy" }), sample({ recordedAt: "2026-01-02T09:30:00.001Z" })))).body.accepted).toBe(2);
  });

  test("202 a repeated webhook-id adds nothing, whatever comes with it, signed or not", async () => {
    const { organization, send, signed } = await newSender();
    const id = crypto.randomUUID();
    expect((await send(batch(undated), { "webhook-id": id })).body).toEqual({ accepted: 1, duplicates: 0 });
    expect((await send(batch(undated), { "webhook-id": id })).body).toEqual({ accepted: 0, duplicates: 1 });
    expect((await signed(batch(...many(3)), { id })).body).toEqual({ accepted: 0, duplicates: 3 });
    expect((await signed({ ...batch(), system: "chat" }, { id })).body).toEqual({ accepted: 0, duplicates: 1 });
    expect((await signed(batch(undated), { id: crypto.randomUUID() })).body).toEqual({ accepted: 1, duplicates: 0 });
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items.filter((each: { action: string }) => each.action === "metrics.ingested")).toHaveLength(2);
    expect((await organization.admin("GET", "/ai-governance/systems")).body.items).toMatchObject([{ key: "loan-scoring" }]);
  });

  test("202 a webhook-id that was refused can come again, and another organization's is no business of ours", async () => {
    const [one, other] = [await newSender(), await newSender()];
    const id = crypto.randomUUID();
    expect((await one.signed(batch(sample({ value: "x" })), { id })).status).toBe(400);
    expect((await one.signed(batch(), { id })).body.accepted).toBe(1);
    expect((await other.signed(batch(), { id })).body.accepted).toBe(1);
  });

  test("202 thirty times at once: each sample is stored once", async () => {
    const { organization, send, signed } = await newSender();
    const id = crypto.randomUUID();
    const deliveries = await Promise.all(Array.from({ length: 30 }, () => signed(batch(undated), { id })));
    expect(deliveries.reduce((sum, each) => sum + each.body.accepted, 0)).toBe(1);
    const samples = many(200, { metric: "recall" });
    const batches = Array.from({ length: 30 }, (_, index) => batch(...(index % 2 ? samples : samples.toReversed())));
    const answers = await Promise.all(batches.map((each) => send(each)));
    expect(answers.map((each) => each.status)).toEqual(Array(30).fill(202));
    expect(answers.reduce((sum, each) => sum + each.body.accepted, 0)).toBe(200);
    expect(await countOf(organization, "recall")).toBe(200);
    expect((await organization.admin("GET", "/ai-governance/systems")).body.items).toHaveLength(1);
  });

  test("202 the system's latest sample is the latest, in whatever order they come", async () => {
    const { organization, send } = await newSender();
    const days = ["04", "09", "02", "07"].map((day) => batch(sample({ recordedAt: `2026-01-${day}T00:00:00Z` })));
    await Promise.all(days.map((each) => send(each)));
    expect((await organization.admin("GET", "/ai-governance/systems")).body.items[0].lastSampleAt).toBe("2026-01-09T00:00:00.000Z");
  });

  test("202 samples of two organizations never meet", async () => {
    const [one, other] = [await newSender(), await newSender()];
    await one.send(batch(...many(3)));
    expect((await other.send(batch(...many(5)))).body).toEqual({ accepted: 5, duplicates: 0 });
    expect([await countOf(one.organization), await countOf(other.organization)]).toEqual([3, 5]);
    const [stored] = await world.sql`select count(distinct labels_hash)::int as hashes from metric_samples where organization_id = ${other.organization.id}`;
    expect(stored?.hashes).toBe(5);
  });
});
