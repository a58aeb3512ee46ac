import { beforeAll, describe, expect, test } from "bun:test";
import { foldCounts } from "#modules/core/widgets/queries/counts";
import { readData } from "#modules/core/widgets/queries/data";
import { readSettings } from "#modules/core/widgets/rules/grid";
import type { Kind } from "#modules/core/widgets/rules/kinds";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

type Certificate = { issuer: string; notBefore: number; notAfter: number; isActive: boolean; algorithm: string; size: number };
type Step = "day" | "week" | "month";

const DAY = 86_400_000;
const at = (text: string) => Date.parse(text);
/** Moments at which counts by day and month could go wrong: the first and last of a day, a month, a year. */
const MOMENTS = ["2029-12-31T23:59:59.999Z", "2030-01-01T00:00:00.000Z", "2030-01-01T00:00:00.001Z", "2030-02-28T12:34:56.789Z", "2030-03-01T00:00:00.000Z"];
const ENDS = [
  ...MOMENTS,
  "2029-11-30T23:59:59.999Z",
  "2029-12-31T00:00:00.000Z",
  "2030-01-01T18:00:00.000Z",
  "2030-01-31T23:59:59.999Z",
  "2030-02-28T23:00:00.000Z",
];

const certificates: Certificate[] = Array.from({ length: 400 }, (_, n) => ({
  issuer: ["CN=Alpha,O=Shop", "CN=beta,O=Shop", "CN=Gamma"][n % 3] ?? "",
  notBefore: n % 11 === 0 ? at(MOMENTS[n % MOMENTS.length] ?? "") : at("2029-01-01"),
  notAfter: n < 200 ? at(ENDS[n % ENDS.length] ?? "") : at("2029-10-01") + ((n * 7_919_000_003) % (250 * DAY)),
  isActive: n % 7 !== 0,
  algorithm: ["RSA", "EC"][n % 2] ?? "",
  size: [2048, 256][n % 2] ?? 0,
}));

let organizationId: string;
beforeAll(async () => {
  ({ id: organizationId } = await newOrganization());
  const rows = certificates.map((each) => ({
    ...each,
    id: Bun.randomUUIDv7(),
    start: new Date(each.notBefore).toISOString(),
    end: new Date(each.notAfter).toISOString(),
    status: each.isActive ? "active" : "revoked",
    facts: { key: { algorithm: each.algorithm, size: each.size }, signatureAlgorithm: `${each.algorithm} with SHA-256` },
  }));
  await world.sql`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after, is_ca, self_signed,
      facts, pem, status, search)
    select ${organizationId}, id, '', id, '', issuer, '', '', start, "end", false, true, facts, '', status::certificate_status, ''
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as row (id uuid, issuer text, start timestamptz, "end" timestamptz, status text, facts jsonb)`;
});

async function show(kind: Kind, now: number, wish: Record<string, unknown>) {
  const settings = readSettings(kind, wish);
  if ("invalid" in settings) throw new Error(settings.invalid);
  return JSON.parse(await readData(world.sql, { organizationId, userId: undefined, now: new Date(now) }, kind, settings.values)).data;
}

function startOf(step: Step, moment: number) {
  const date = new Date(moment);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (step === "month") return Date.UTC(year, month);
  return Date.UTC(year, month, step === "week" ? day - ((date.getUTCDay() + 6) % 7) : day);
}

function nextOf(step: Step, start: number) {
  const date = new Date(start);
  return step === "month" ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) : start + (step === "week" ? 7 : 1) * DAY;
}

function expectedTimeline(now: number, { horizonDays, bucket, issuer = "" }: { horizonDays: number; bucket: Step; issuer?: string }) {
  const until = now + horizonDays * DAY;
  const own = certificates.filter((each) => each.isActive && each.issuer.toLowerCase().includes(issuer.toLowerCase()));
  const buckets: { start: string; count: number }[] = [];
  for (let start = startOf(bucket, now); start <= until; start = nextOf(bucket, start)) {
    const due = own.filter(({ notAfter }) => notAfter > now && notAfter <= until && startOf(bucket, notAfter) === start);
    buckets.push({ start: new Date(start).toISOString(), count: due.length });
  }
  return { bucket, expired: own.filter(({ notAfter }) => notAfter <= now).length, buckets };
}

const validAt = (now: number, isEver = false) => certificates.filter((each) => each.isActive && each.notBefore <= now && (isEver || each.notAfter > now));

function countBy(some: Certificate[], of: (each: Certificate) => string) {
  const counts = Map.groupBy(some, of);
  return [...counts].map(([name, each]) => ({ name, count: each.length })).sort((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1));
}

describe.each(["before their changes are added up", "after it"])("widgets of certificates, %s", (when) => {
  if (when === "after it") beforeAll(() => foldCounts(world.sql));

  describe.each(MOMENTS)("at %s", (moment) => {
    const now = at(moment);

    test.each([
      { horizonDays: 1, bucket: "day" },
      { horizonDays: 31, bucket: "day", issuer: "shop" },
      { horizonDays: 90, bucket: "week" },
      { horizonDays: 90, bucket: "week", issuer: "BETA" },
      { horizonDays: 400, bucket: "month", issuer: "none of them" },
      { horizonDays: 825, bucket: "month" },
    ] as const)("count what ends: %j", async (settings) => {
      expect(await show("expiring_certificates_timeline", now, settings)).toEqual(expectedTimeline(now, settings));
    });

    test.each([false, true])("count by issuer, includeExpired %p", async (includeExpired) => {
      const valid = validAt(now, includeExpired);
      const issuers = countBy(valid, (each) => each.issuer).map(({ name, count }) => ({ issuer: name, count }));
      const shown = await show("certificates_by_issuer", now, { includeExpired, topN: 50 });
      const order = (one: { issuer: string }, other: { issuer: string }) => (one.issuer < other.issuer ? -1 : 1);
      expect({ ...shown, issuers: shown.issuers.toSorted(order) }).toEqual({ total: valid.length, issuers: issuers.toSorted(order), others: 0 });
    });

    test.each(["key", "signature"])("count by %s", async (dimension) => {
      const counted = countBy(validAt(now), (each) => (dimension === "key" ? each.algorithm : `${each.algorithm} with SHA-256`));
      const { total, algorithms } = await show("key_algorithm_distribution", now, { dimension });
      expect(total).toBe(validAt(now).length);
      expect(algorithms.map(({ name, count }: { name: string; count: number }) => ({ name, count }))).toEqual(counted);
    });
  });
});
