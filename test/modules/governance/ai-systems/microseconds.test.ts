import { describe, expect, test } from "bun:test";
import { MAINTENANCE } from "#db/connect";
import { migrate } from "#db/migrate";
import { embeddedMigrations } from "#db/migrations.macro";
import type { TestOrganization } from "../../../support/server/people";
import { connectTo, startPostgres } from "../../../support/server/postgres";
import { batch, newSender, sample } from "./senders";

const at = (recordedAt: string, value = 1) => sample({ recordedAt, value });
const metric = (organization: TestOrganization, from: string, to: string) =>
  organization.member("GET", `/ai-governance/metrics?${new URLSearchParams({ system: "loan-scoring", metric: "accuracy", from, to })}`);
const latest = async (organization: TestOrganization) => (await organization.member("GET", "/ai-governance/systems")).body.items[0].lastSampleAt;

describe("POST …/ingest/metrics, to the microsecond", () => {
  test("202 samples a microsecond apart are two, sent again they are duplicates", async () => {
    const { organization, send } = await newSender();
    const samples = batch(at("2026-01-02T09:30:00.123456Z"), at("2026-01-02T09:30:00.123457Z"), at("2026-01-02T09:30:00.123Z"));
    expect((await send(samples)).body).toEqual({ accepted: 3, duplicates: 0 });
    expect((await send(samples)).body).toEqual({ accepted: 0, duplicates: 3 });
    expect(await latest(organization)).toBe("2026-01-02T09:30:00.123457Z");
  });

  test("202 what is finer than a microsecond is cut off, and an offset is another way to write the same moment", async () => {
    const { organization, send } = await newSender();
    await send(batch(at("2026-01-02T09:30:00.999999Z")));
    const same = [
      "2026-01-02T09:30:00.999999999Z",
      "2026-01-02T09:30:00.9999990+00:00",
      "2026-01-02T11:30:00.999999+02:00",
      "2026-01-02T03:45:00.9999995-05:45",
    ];
    expect((await send(batch(...same.map((each) => at(each))))).body).toEqual({ accepted: 0, duplicates: 4 });
    expect(await latest(organization)).toBe("2026-01-02T09:30:00.999999Z");
  });

  test.each([
    "2016-12-31T23:59:60Z",
    "2026-01-01T23:59:60Z",
    "2017-01-01T01:59:60.5+02:00",
    "2026-01-01T24:00:00Z",
    "2026-01-01T23:60:00Z",
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-01-01T00:00:00+14:01",
    "2026-01-01T00:00:00-15:00",
    "2026-01-01T00:00:00+00:60",
  ])("400 for %s, a moment that never was", async (recordedAt) => {
    const { send } = await newSender();
    const { status, body } = await send(batch(at("2026-01-01T00:00:00Z"), at(recordedAt)));
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringMatching(/^body\.samples\.1\.recordedAt must be a date and time/) });
  });

  test("202 the last second of a day, a leap day, and the offsets furthest from UTC", async () => {
    const { organization, send } = await newSender();
    const moments = ["2016-12-31T23:59:59.999999Z", "2024-02-29T00:00:00Z", "2024-02-29T14:00:00+14:00", "2024-02-28T10:00:00-14:00"];
    expect((await send(batch(...moments.map((each) => at(each))))).body).toEqual({ accepted: 2, duplicates: 2 });
    expect(await latest(organization)).toBe("2024-02-29T00:00:00.000Z");
  });

  test("202 the first microsecond of 1970, 400 for the one before it", async () => {
    const { send } = await newSender();
    expect((await send(batch(at("1970-01-01T00:00:00.000001Z")))).status).toBe(202);
    expect((await send(batch(at("1969-12-31T23:59:59.999999Z")))).body.message).toBe("body.samples.0.recordedAt must not be before 1970.");
  });
});

describe("GET …/ai-governance/metrics, to the microsecond", () => {
  test("200 from is within, to is not, and both come back as they were asked for", async () => {
    const { organization, send } = await newSender();
    await send(batch(at("2026-01-02T09:30:00.000001Z", 1), at("2026-01-02T09:30:00.000002Z", 2), at("2026-01-02T09:30:00.000003Z", 4)));
    const { body } = await metric(organization, "2026-01-02T10:30:00.0000020+01:00", "2026-01-02T09:30:00.000003Z");
    expect(body).toMatchObject({ from: "2026-01-02T09:30:00.000002Z", to: "2026-01-02T09:30:00.000003Z" });
    expect(body.items).toEqual([{ at: "2026-01-02T09:30:00.000002Z", min: 2, max: 2, mean: 2, count: 1 }]);
    expect((await metric(organization, "2026-01-02T09:30:00.000003Z", "2026-01-02T09:30:00.0000039Z")).body.message).toBe(
      "query.from must be before query.to.",
    );
  });

  test("200 to the last microsecond of the year 9999, 400 beyond the years 1 to 9999", async () => {
    const { organization, send } = await newSender();
    await send(batch());
    const last = "9999-12-31T23:59:59.999999Z";
    expect((await metric(organization, "9999-12-31T23:00:00Z", last)).body).toMatchObject({ to: last, items: [] });
    for (const odd of ["9999-12-31T23:59:60Z", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+00:01", "0000-12-31T00:00:00Z"])
      expect((await metric(organization, "2026-01-01T00:00:00Z", odd)).body.message).toStartWith("query.to must be a date and time");
    expect((await metric(organization, "0001-01-01T00:00:00Z", last)).body.message).toBe("query.from must not be before 1970.");
  });
});

test("an upgrade keeps every sample and partition, and rewrites none", async () => {
  const postgres = await startPostgres();
  const sql = connectTo(postgres.url, MAINTENANCE).$client;
  const all = embeddedMigrations();
  const next = all.findIndex((each) => each.name.endsWith("_samples_to_the_microsecond"));
  await sql`create schema drizzle`;
  await sql`create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;
  for (const migration of all.slice(0, next)) {
    for (const statement of migration.sql) await sql.unsafe(statement);
    await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${migration.hash}, ${migration.folderMillis})`;
  }
  await sql.unsafe(`create table metric_samples_2026_01 (like metric_samples including defaults)`);
  await sql.unsafe(`alter table metric_samples attach partition metric_samples_2026_01 for values from ('2026-01-01') to ('2026-02-01')`);
  const insert = (recordedAt: string) => sql`
    insert into metric_samples (organization_id, system_id, metric, recorded_at, labels, labels_hash, value)
    values (${organizationId}, ${organizationId}, 'accuracy', ${recordedAt}, '{}', 0, 1) on conflict do nothing`;
  const organizationId = crypto.randomUUID();
  for (const each of ["2026-01-02T09:30:00.123Z", "2025-01-02T09:30:00Z"]) await insert(each);
  const files = () =>
    sql`select relname, relfilenode from pg_class where relname like 'metric_samples_2%' or relname like 'metric_samples_d%' order by relname`;
  const before = await files();
  expect(before).toHaveLength(4);

  expect(await migrate(sql)).toEqual(all.slice(next).map((each) => each.name));
  expect([...(await files())]).toEqual([...before]);
  for (const each of ["2026-01-02T09:30:00.123001Z", "2026-01-02T09:30:00.123Z", "2025-01-02T09:30:00.000001Z"]) await insert(each);
  const stored = await sql`select tableoid::regclass::text as partition, iso(recorded_at) as at from metric_samples order by recorded_at`;
  expect([...stored]).toEqual([
    { partition: "metric_samples_default", at: "2025-01-02T09:30:00.000Z" },
    { partition: "metric_samples_default", at: "2025-01-02T09:30:00.000001Z" },
    { partition: "metric_samples_2026_01", at: "2026-01-02T09:30:00.123Z" },
    { partition: "metric_samples_2026_01", at: "2026-01-02T09:30:00.123001Z" },
  ]);
  await sql.end();
  await postgres.stop();
});
