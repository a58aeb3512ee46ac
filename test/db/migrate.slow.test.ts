import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { MAINTENANCE, type Pool } from "#db/connect";
import { migrate, migrationStatus } from "#db/migrate";
import { openDatabase } from "#db/open";
import { createLog } from "#log/log";
import { applyFirst, migrationFiles } from "../support/server/migrations";
import { connectTo, startPostgres } from "../support/server/postgres";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

describe("migrate", () => {
  let postgres: Awaited<ReturnType<typeof startPostgres>>;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  test("applies each migration once when three replicas start at once, and nothing later", async () => {
    // The embedded engine is one session, so there the three share its one connection.
    const first = connectTo(postgres.url, MAINTENANCE).$client;
    const pools = Bun.env.TEST_DATABASE_URL ? [first, connectTo(postgres.url, MAINTENANCE).$client, connectTo(postgres.url, MAINTENANCE).$client] : [first];
    const { migrations: before } = await migrationStatus(first);
    const names = before.map((each) => each.name);
    expect(before.length).toBeGreaterThan(1);
    expect(before.some((each) => each.applied)).toBe(false);

    const applied = await Promise.all([0, 1, 2].map((index) => migrate(pools[index % pools.length] ?? first)));
    expect(applied.flat()).toEqual(names);
    expect(await first`select hash from drizzle.__drizzle_migrations`).toHaveLength(names.length);
    expect(await migrationStatus(first)).toEqual({ migrations: names.map((name) => ({ name, applied: true })), unknown: [] });

    expect(await migrate(first)).toEqual([]);
    for (const pool of pools) await pool.end();
  });

  test("refuses a database that a newer one migrated, and changes nothing", async () => {
    const { $client: sql } = connectTo(postgres.url, MAINTENANCE);
    const madeAt = Date.UTC(2100, 0);
    await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('of a newer one', ${madeAt})`;
    expect((await migrationStatus(sql)).unknown).toEqual(["2100-01-01T00:00:00.000Z"]);
    const message = "The database was migrated by a newer certitude: it has what this one does not know (made 2100-01-01T00:00:00.000Z)";
    expect(migrate(sql)).rejects.toThrow(message);
    expect(openDatabase({ databaseUrl: postgres.url, keyring: world.config.keyring, requestTimeout: 5_000, dataDir: "" }, createLog("silent"))).rejects.toThrow(
      message,
    );
    await sql`delete from drizzle.__drizzle_migrations where created_at = ${madeAt}`;
    await sql.end();
  });
});

// The embedded engine is one session: there nobody else can hold a lock.
if (Bun.env.TEST_DATABASE_URL)
  describe("migrate beside others", () => {
    let postgres: Awaited<ReturnType<typeof startPostgres>>;
    let sql: Pool;
    let others: Pool;
    const said: { by: string; msg: string }[] = [];
    const log = createLog("warn", { write: (line) => void said.push(JSON.parse(line)) });
    const pending = migrationFiles.slice(12).map((each) => each.name); // the next one changes rollout_steps

    beforeEach(async () => {
      postgres = await startPostgres();
      sql = connectTo(postgres.url, MAINTENANCE).$client;
      others = connectTo(postgres.url, { ...MAINTENANCE, max: 3 }).$client;
      await applyFirst(sql, 12);
      said.length = 0;
    });
    afterEach(async () => {
      await sql.end();
      await others.end();
      await postgres.stop();
    });

    /** Runs `statement` in a transaction that stays open until `end`. */
    async function holdOpen(statement: string) {
      const { promise: isOver, resolve } = Promise.withResolvers<void>();
      const { promise: pid, resolve: settle } = Promise.withResolvers<number>();
      const holding = others.begin(async (tx) => {
        const [row] = await tx.unsafe(statement);
        settle(row?.pid);
        await isOver;
      });
      const end = () => {
        resolve();
        return holding;
      };
      return { pid: await pid, end };
    }

    /** Notes for how long each migration's transaction waits for a table. */
    const noteLockTimeout = () =>
      sql.unsafe(`create table lock_timeouts as select ''::text as timeout with no data;
        create function note_lock_timeout() returns trigger language plpgsql as $$ begin insert into lock_timeouts values (current_setting('lock_timeout')); return null; end $$;
        create trigger note_lock_timeout after insert on drizzle.__drizzle_migrations for each row execute function note_lock_timeout()`);

    test("keeps nobody waiting for longer than two seconds while a reader holds a table, and says who does", async () => {
      await noteLockTimeout();
      const reader = await holdOpen("select pg_backend_pid() as pid from (select count(*) from rollout_steps) as counted");
      const migrating = migrate(sql, log);
      const isQueued = async (mode: string) =>
        (await others`select 1 from pg_locks where relation = 'rollout_steps'::regclass and not granted and mode = ${mode}`).length > 0;
      for (let hasWaited = false; !hasWaited; ) {
        while (!(await isQueued("AccessExclusiveLock"))) await Bun.sleep(5); // the migration's
        let isAnswered = false;
        const asked = others`select count(*) from rollout_steps`.then(() => {
          isAnswered = true;
        });
        while (!isAnswered) hasWaited = (await isQueued("AccessShareLock")) || hasWaited;
        await asked; // while the reader still holds the table
      }
      while (said.length === 0) await Bun.sleep(5); // it looks who holds the table before it says so
      await reader.end();
      expect(await migrating).toEqual(pending);
      expect([...(await sql`select distinct timeout from lock_timeouts`)]).toEqual([{ timeout: "2s" }]);
      expect(said[0]).toMatchObject({
        msg: "tables are in use, retrying the migration",
        by: expect.stringContaining(`process ${reader.pid},`),
      });
    });

    test("gives up with a sentence when a table is never free, and leaves the database as it was", async () => {
      const reader = await holdOpen("select pg_backend_pid() as pid from (select count(*) from rollout_steps) as counted");
      expect(await migrate(sql, log, { tables: 100 }).catch((error: Error) => error.message)).toStartWith(
        "The database cannot be migrated: its tables were in use all the time (",
      );
      await reader.end();
      expect((await migrationStatus(sql)).migrations.filter((each) => !each.applied).map((each) => each.name)).toEqual(pending);
    });

    test("waits for another process that migrates, says which it is, and gives up with a sentence", async () => {
      const other = await holdOpen("select pg_backend_pid() as pid from pg_advisory_xact_lock(4711001)");
      const failure = await migrate(sql, log, { others: 100 }).catch((error: Error) => error.message);
      expect(failure).toStartWith(`The database cannot be migrated: another process has been at it for too long (process ${other.pid}, certitude, `);
      const migrating = migrate(sql, log);
      while (said.length < 2) await Bun.sleep(20);
      expect(said.at(-1)).toMatchObject({ msg: "another process is migrating the database, retrying", by: expect.stringContaining(`process ${other.pid},`) });
      await other.end();
      expect(await migrating).toEqual(pending);
    });
  });

/** Indexes of tenant tables that serve a look-up by something else than the organization. */
const EXCEPTIONS = new Map([
  ["acme_http_answers_pkey", "a CA asks by the token alone"],
  ["domain_holders_pkey", "a domain is one organization's, whatever the others have"],
  ["agents_token_hash_index", "an agent is known by its token alone"],
  ["agents_public_key_index", "a key is one agent's, whatever its organization"],
  ["agent_credentials_token_hash_index", "a credential is known by itself alone"],
  ["join_tokens_token_hash_index", "a join token is known by itself alone"],
  ["deployment_reports_reported_at_index", "old reports are forgotten in all organizations"],
  ["ingest_keys_key_hash_index", "an ingest key is known by itself alone"],
  ["members_invitation_token_hash_index", "an invitation is known by its token alone"],
  ["api_tokens_token_hash_index", "an API token is known by itself alone"],
  ["members_user_id_index", "the organizations of a user"],
  ["documents_id_index", "workers know the document alone"],
  ["notices_unread_index", "an inbox is a user's"],
  ["notices_user_id_id_index", "an inbox is a user's"],
  ["notices_user_id_position_pk", "an inbox is a user's"],
  ["webhook_deliveries_received_at_index", "old deliveries are swept for everybody"],
  ["pending_links_due_at_index", "links are looked for on behalf of everybody, what is due first"],
  ["notices_state_index", "an inbox is a user's"],
  ["alerts_snoozed_index", "the job ends what is over in all organizations"],
  ["notification_channels_due_index", "channels are served for everybody, what is due first"],
  ["notification_channels_failing_index", "channels that fail are looked for in all organizations"],
  ["notification_deliveries_created_at_index", "old deliveries are forgotten in all organizations"],
  ["agent_watch_due_at_index", "the watch takes what is due first in all organizations"],
  ["control_evidence_due_at_index", "the watch takes what is due first in all organizations"],
  ["certificate_requests_search_index", "the organization is a word of the index too"],
  ["renewals_look_index", "renewals are looked at for everybody, what is due first"],
  ["renewals_issued_index", "renewals are looked at for everybody, what is due first"],
  ["renewals_ask_window_index", "CAs are asked for everybody, what is due first"],
  ["ca_revocations_due_index", "CAs are told for everybody, what is due first"],
  ["issuers_due_index", "issuers are served for everybody, what is due first"],
  ["controls_look_index", "the watch takes what is due first in all organizations"],
  ["credential_watch_due_at_index", "the watch takes what is due first in all organizations"],
  ["expiry_watch_due_index", "the watch takes what is due first in all organizations"],
  ["authority_publications_authority_index", "whoever checks a certificate knows the authority alone"],
  ["authority_publications_due_index", "the job signs what is due first in all organizations"],
  ["issued_certificates_serial_index", "whoever checks a certificate knows the authority and the number alone"],
  ["issued_certificates_ocsp_due_index", "the job signs what is due first in all organizations"],
  ["certificates_search_index", "words, of which the organization is one"],
  ["certificates_not_after_index", "/metrics counts what expires for everybody"],
  ["document_chunks_search_index", "words, of which the organization is one"],
]);
const SHARED = [
  "idempotency_keys",
  "platform_audit_events",
  "organizations",
  "users",
  "revoked_tokens",
  "inboxes",
  "inbox_reads",
  "secret_keys",
  "stamping",
  "stamping_levels",
  "mails",
  "notification_preferences",
  "digests",
  "digest_notices",
  "job_runs",
];

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
    expect([...tables]).toEqual([{ relname: "audit_tail" }]); // its rows soon stand under the key of audit_events
  });

  test("may be replicated logically: a deleted row is known by its primary key, or as a whole", async () => {
    const tables = await world.sql`
      select relname from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
        and relreplident <> 'f' and not exists (select from pg_index where indrelid = c.oid and indisprimary)`;
    expect([...tables]).toEqual([]);
  });
});
