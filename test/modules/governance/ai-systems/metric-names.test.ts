import { describe, expect, test } from "bun:test";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { batch, newSender, sample } from "./senders";

const list = (organization: TestOrganization, query = "") => organization.member("GET", `/ai-governance/metric-names?system=loan-scoring${query}`);

describe("GET /organizations/{organizationId}/ai-governance/metric-names", () => {
  test.each<[string, string]>([
    ["", "query.system is required."],
    ["?system=Loan", "query.system must be the key of an AI system: lower-case letters, digits, dots, dashes and underscores."],
    [`?system=a&cursor=${Buffer.from('["a\\u0000"]').toString("base64url")}`, "query.cursor must be the nextCursor of an earlier answer."],
  ])("400 for %j", async (query, message) => {
    const organization = await newOrganization();
    expect(await organization.member("GET", `/ai-governance/metric-names${query}`)).toMatchObject({ status: 400, body: { message } });
  });

  test("404 for a system that never sent anything, and for another organization's", async () => {
    const [organization, sender] = [await newOrganization(), await newSender()];
    await sender.send(batch());
    expect((await list(organization)).status).toBe(404);
    expect((await list(sender.organization)).status).toBe(200);
  });

  test("200 each name once, page by page, with the unit and the time of its latest sample in whatever month", async () => {
    const { organization, send } = await newSender();
    const metrics = ["accuracy", "Präzision", "drift/psi", "latency p99", "中文"];
    await send(
      batch(...metrics.flatMap((metric) => ["2025-11-02", "2026-01-31"].map((day) => sample({ metric, recordedAt: `${day}T08:00:00.000Z`, unit: day })))),
    );
    await send({ ...batch(sample({ metric: "another's" })), system: "chat" });
    const found: object[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { body } = await list(organization, `&limit=2${cursor && `&cursor=${cursor}`}`);
      found.push(...body.items);
      cursor = body.nextCursor as string | null;
    }
    const expected = metrics.map((metric) => ({ metric, unit: "2026-01-31", lastSampleAt: "2026-01-31T08:00:00.000Z" }));
    expect(found).toHaveLength(expected.length);
    expect(found).toEqual(expect.arrayContaining(expected));
    expect((await list(organization)).body).toEqual({ items: found, nextCursor: null });
  });
});
