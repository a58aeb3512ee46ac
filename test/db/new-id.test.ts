import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { connectTo, startPostgres } from "../support/server/postgres";

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let sql: Pool;

beforeAll(async () => {
  postgres = await startPostgres();
  sql = connectTo(postgres.url).$client;
  await migrate(sql);
});
afterAll(async () => {
  await sql.end();
  await postgres.stop();
});

test("ids that the database makes are UUIDv7 of their moment, each above the one before", async () => {
  const rows = await sql<{ id: string; at: number }[]>`
    select new_id()::text as id, (extract(epoch from clock_timestamp()) * 1000)::float8 as at from generate_series(1, 50000)`;
  const ids = rows.map((each) => each.id);
  expect(ids.filter((each) => !UUID_V7.test(each))).toEqual([]);
  expect(ids.findIndex((each, index) => index > 0 && each <= (ids[index - 1] ?? ""))).toBe(-1);
  expect(rows.filter(({ id, at }) => Number.parseInt(id.replace("-", "").slice(0, 12), 16) > Math.ceil(at))).toEqual([]);
  expect(new Set(ids.map((each) => each.slice(-12))).size).toBeGreaterThan(49_990);
});
