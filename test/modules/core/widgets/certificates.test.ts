import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import type { Minted } from "#demo/mint";
import { certificate, importInto } from "../../../support/pki/certificates";
import * as odd from "../../../support/pki/odd-certificates";
import { show } from "../../../support/server/dashboards";
import { newOrganization } from "../../../support/server/people";

type Bucket = { start: string; count: number };

const midnightOf = (date: Date | string) => `${new Date(date).toISOString().slice(0, 10)}T00:00:00.000Z`;
const lastDayOf = (pem: string) => midnightOf(new X509Certificate(pem).validTo);

describe("GET /organizations/{organizationId}/core/widgets/{widgetId}/data of certificates", () => {
  test("200 a timeline: every stretch up to the horizon, what ends in each, what ended before", async () => {
    const organization = await newOrganization();
    const [issuing, expired] = [certificate({ commonName: "Shop CA", isCa: true, days: 900 }), certificate({ days: -2, from: -9 })];
    const ends = [3, 3, 20, 200].map((days) => certificate({ days, issuer: issuing }).pem);
    const [revoked] = await importInto(organization, certificate({ days: 4 }).pem);
    await organization.admin("POST", `/certificates/${revoked}/revoke`, { body: {} });
    await importInto(organization, issuing.pem, expired.pem, ...ends);
    const before = midnightOf(new Date());
    const day = await show(organization, "expiring_certificates_timeline", { bucket: "day", horizonDays: 30 });
    const after = midnightOf(new Date());
    expect(day).toMatchObject({ bucket: "day", expired: 1 });
    expect(day.buckets).toHaveLength(31);
    const filled = day.buckets.filter((each: Bucket) => each.count > 0);
    const ending = Object.entries(Object.groupBy(ends.slice(0, 3), lastDayOf));
    expect(filled).toEqual(ending.map(([start, pems]) => ({ start, count: pems?.length })));
    const starts = day.buckets.map((each: Bucket) => each.start);
    expect(starts[0]).toBeOneOf([before, after]);
    expect(starts.toSorted()).toEqual(starts);
    const week = await show(organization, "expiring_certificates_timeline", { includeExpired: false, horizonDays: 365, issuer: "shop ca" });
    expect(week.expired).toBeNull();
    expect(week.buckets.reduce((sum: number, each: Bucket) => sum + each.count, 0)).toBe(4);
    for (const { start } of week.buckets) expect(new Date(start).getUTCDay()).toBe(1);
    const month = await show(organization, "expiring_certificates_timeline", { bucket: "month", horizonDays: 400 });
    for (const { start } of month.buckets) expect(start.slice(8)).toBe("01T00:00:00.000Z");
  });

  test("200 what expires next, and how urgent it is", async () => {
    const organization = await newOrganization();
    const [later, soon, next] = await importInto(organization, ...[60.5, 3.5, 20.5].map((days) => certificate({ days }).pem));
    await importInto(organization, certificate({ days: -1, from: -9 }).pem);
    const { items } = await show(organization, "top_expiring_certificates");
    expect(items).toMatchObject([
      { certificateId: soon, daysRemaining: 3, severity: "critical" },
      { certificateId: next, daysRemaining: 20, severity: "warning" },
      { certificateId: later, daysRemaining: 60, severity: "ok" },
    ]);
    const other = await show(organization, "top_expiring_certificates", { limit: 1, criticalDays: 0, warnDays: 2 });
    expect(other.items).toMatchObject([{ certificateId: soon, severity: "ok" }]);
  });

  test("200 the biggest issuers and the others", async () => {
    const organization = await newOrganization();
    const [one, two, three] = ["One", "Two", "Three"].map((commonName) => certificate({ commonName, isCa: true })) as [Minted, Minted, Minted];
    const pems = [one, two, three].flatMap((issuer, index) => Array.from({ length: 3 - index }, () => certificate({ issuer }).pem));
    await importInto(organization, ...pems, certificate({ issuer: three, days: -1, from: -9 }).pem);
    const name = (commonName: string) => expect.stringContaining(`CN=${commonName},`);
    expect(await show(organization, "certificates_by_issuer", { topN: 2 })).toEqual({
      total: 6,
      issuers: [
        { issuer: name("One"), count: 3 },
        { issuer: name("Two"), count: 2 },
      ],
      others: 1,
    });
    const all = await show(organization, "certificates_by_issuer", { groupOthers: false, includeExpired: true });
    expect(all).toMatchObject({ total: 7, others: null, issuers: [{ count: 3 }, { count: 2 }, { count: 2 }] });
  });

  test("200 keys and signatures, and which of them are weak", async () => {
    const organization = await newOrganization();
    await importInto(organization, odd.rsaLeaf, odd.ecRoot, odd.ed25519, certificate().pem, certificate().pem);
    const keys = await show(organization, "key_algorithm_distribution", { minimumRsaBits: 3072 });
    expect(keys.total).toBe(5);
    expect(keys.algorithms).toEqual(
      expect.arrayContaining([
        { name: "EC", size: 256, curve: "P-256", count: 2, isWeak: false },
        { name: "EC", size: 384, curve: "P-384", count: 1, isWeak: false },
        { name: "RSA", size: 2048, curve: null, count: 1, isWeak: true },
        { name: "Ed25519", size: 256, curve: null, count: 1, isWeak: false },
      ]),
    );
    const signatures = await show(organization, "key_algorithm_distribution", { dimension: "signature", highlightWeak: false });
    expect(signatures.algorithms).toEqual(
      expect.arrayContaining([{ name: "ecdsa-with-SHA256", size: null, curve: null, count: expect.any(Number), isWeak: null }]),
    );
  });

  test("200 shows nothing of another organization", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    await importInto(other, certificate().pem);
    expect(await show(mine, "top_expiring_certificates")).toEqual({ items: [] });
    expect(await show(mine, "certificates_by_issuer")).toEqual({ total: 0, issuers: [], others: 0 });
    expect(await show(mine, "key_algorithm_distribution")).toEqual({ total: 0, algorithms: [] });
    expect((await show(mine, "expiring_certificates_timeline")).expired).toBe(0);
  });
});
