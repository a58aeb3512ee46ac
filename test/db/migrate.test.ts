import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { PATIENT } from "../../src/db/connect";
import { migrate, migrationStatus } from "../../src/db/migrate";
import { connectTo, startPostgres } from "../support/postgres";
import { world } from "../support/world";

setDefaultTimeout(60_000);

describe("migrate", () => {
  let postgres: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  test("applies each migration once when three replicas start at once, and nothing later", async () => {
    // The embedded engine is one session, so there the three share its one connection.
    const first = connectTo(postgres.url, PATIENT).$client;
    const pools = Bun.env.TEST_DATABASE_URL ? [first, connectTo(postgres.url, PATIENT).$client, connectTo(postgres.url, PATIENT).$client] : [first];
    const before = await migrationStatus(first);
    const names = before.map((each) => each.name);
    expect(before.length).toBeGreaterThan(1);
    expect(before.some((each) => each.applied)).toBe(false);

    const applied = await Promise.all([0, 1, 2].map((index) => migrate(pools[index % pools.length] ?? first)));
    expect(applied.flat()).toEqual(names);
    expect(await first`select hash from drizzle.__drizzle_migrations`).toHaveLength(names.length);
    expect(await migrationStatus(first)).toEqual(names.map((name) => ({ name, applied: true })));

    expect(await migrate(first)).toEqual([]);
    for (const pool of pools) await pool.end();
  });
});

/** Indexes of tenant tables that serve a look-up by something else than the organization. */
const EXCEPTIONS = new Map([
  ["agents_token_hash_index", "an agent is known by its token alone"],
  ["ingest_keys_key_hash_index", "an ingest key is known by itself alone"],
  ["members_invitation_token_hash_index", "an invitation is known by its token alone"],
  ["members_user_id_index", "the organizations of a user"],
  ["documents_id_index", "workers know the document alone"],
  ["notices_unread_index", "an inbox is a user's"],
  ["notices_user_id_id_index", "an inbox is a user's"],
  ["notices_user_id_position_pk", "an inbox is a user's"],
  ["webhook_deliveries_received_at_index", "old deliveries are swept for everybody"],
  ["certificates_search_index", "words, of which the organization is one"],
  ["document_chunks_search_index", "words, of which the organization is one"],
]);
const SHARED = ["organizations", "users", "revoked_tokens", "inboxes"];

describe("every table", () => {
  test("belongs to an organization, or is known not to", async () => {
    const tables = await world.sql<{ name: string }[]>`
      select relname as name from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not exists (select from pg_attribute where attrelid = c.oid and attname = 'organization_id')`;
    expect(SHARED).toEqual(expect.arrayContaining(tables.map((each) => each.name)));
  });

  test("of an organization leads its primary key and its indexes with organization_id", async () => {
    const indexes = await world.sql<{ name: string }[]>`
      select x.relname as name from pg_index i join pg_class t on t.oid = i.indrelid join pg_class x on x.oid = i.indexrelid
        left join pg_attribute led on led.attrelid = t.oid and led.attnum = i.indkey[0]
      where t.relnamespace = 'public'::regnamespace and led.attname is distinct from 'organization_id'
        and exists (select from pg_attribute where attrelid = t.oid and attname = 'organization_id')`;
    expect(indexes.map((each) => each.name).filter((name) => !EXCEPTIONS.has(name))).toEqual([]);
  });

  test("of an organization has a primary key", async () => {
    const tables = await world.sql`
      select relname from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and not exists (select from pg_index where indrelid = c.oid and indisprimary)`;
    expect([...tables]).toEqual([]);
  });
});
