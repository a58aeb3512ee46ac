import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Pool, Sql } from "#db/connect";
import { migrate } from "#db/migrate";
import { foldCounts, rebuildCounts } from "#modules/core/widgets/queries/counts";
import { markAllRead, markRead } from "#modules/notifications/inbox/queries";
import { wrongCounts } from "../../../support/server/counts";
import { connectTo, startPostgres } from "../../../support/server/postgres";

setDefaultTimeout(600_000);

/** They race on Postgres alone: the embedded engine does one after another. */
const OPERATIONS = 5_000;
const WRITERS = 4;

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let sql: Pool;

beforeAll(async () => {
  postgres = await startPostgres();
  sql = connectTo(postgres.url, { statementTimeout: 0, silence: 0 }).$client;
  await migrate(sql);
});
afterAll(async () => {
  await sql.end();
  await postgres.stop();
});

const any = (count: number) => Math.floor(Math.random() * count);
const pick = <Value>(values: readonly Value[]) => values[any(values.length)] as Value;
const isLikely = () => Math.random() < 0.7;
const daysAway = (days: number) => new Date(Date.now() + (Math.random() * 2 - 1) * days * 86_400_000).toISOString();

const ORGANIZATIONS = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
const USERS = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
const KEYS = [{ algorithm: "RSA", size: 2048 }, { algorithm: "EC", size: 256, curve: "P-256" }, { algorithm: "Ed25519" }, {}];
const STORES = ["openssl_ca_dir", "java_cacerts", "nginx_tls"];
const MATERIALS = ["trust_anchor", "server_certificate"];
const STATES = ["installed", "installed", "failed", "drifted", "removed", "refused"];

/** A row that is in the table, if there is one. */
const anyOf = (tx: Sql, table: string) => tx`select ctid from ${tx.text(table)} order by random() limit 1`;

async function addCertificates(tx: Sql) {
  const rows = Array.from({ length: 1 + any(5) }, () => ({
    id: Bun.randomUUIDv7(),
    issuer: `CN=${any(4)}`,
    ends: daysAway(70),
    status: isLikely() ? "active" : pick(["revoked", "retired"]),
    facts: { key: pick(KEYS), signatureAlgorithm: pick(["sha256WithRSAEncryption", "ecdsa-with-SHA256"]) },
  }));
  await tx`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after, is_ca, self_signed,
      facts, pem, status, search)
    select ${pick(ORGANIZATIONS)}, id, '', id, '', issuer, '', '', now(), ends, true, true, facts, '', status::certificate_status, ''
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as row (id uuid, issuer text, ends timestamptz, status text, facts jsonb)`;
}

async function addAssignments(tx: Sql) {
  await tx`
    insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target, auto_renew,
      enabled, reported_state, reported_at)
    select a.organization_id, new_id(), a.id, c.id, '', ${pick(STORES)}, ${pick(MATERIALS)}, false, '{}', ${String(any(3))}, true, ${isLikely()},
      ${isLikely() ? null : pick(STATES)}, now()
    from (select * from agents order by random() limit ${1 + any(3)}) as a
    cross join lateral (select id from certificates where organization_id = a.organization_id order by random() limit 1) as c
    on conflict do nothing`;
}

const report = (tx: Sql) => tx`
  update assignments as a set reported_state = ${pick(STATES)}, reported_fingerprint = case when ${isLikely()} then fingerprint_sha256 end,
    reported_at = now() + make_interval(secs => ${any(3) - 1}) from certificates c
  where (c.organization_id, c.id) = (a.organization_id, a.certificate_id) and a.ctid = any(array(${anyOf(tx, "assignments")}))`;

const addNotices = (tx: Sql, count: number) => tx`
  with box as (
    insert into inboxes as i (user_id, total, unread) values (${pick(USERS)}, ${count}, ${count})
    on conflict (user_id) do update set total = i.total + ${count}, unread = i.unread + ${count} returning user_id, total)
  insert into notices (user_id, position, id, kind, title, message) select user_id, total - n, new_id(), '', '', '' from box, generate_series(0, ${count - 1}::int) as n`;

async function readSome(tx: Sql) {
  const userId = pick(USERS);
  const rows = await tx<{ id: string }[]>`
    select id from notices where user_id = ${userId}
      and position in (select 1 + floor(random() * total)::int from inboxes, generate_series(1, ${1 + any(5)}::int) where user_id = ${userId})`;
  await markRead(
    tx,
    userId,
    rows.map((each) => each.id),
  );
}

const WRITES: ((tx: Sql) => Promise<unknown>)[] = [
  addCertificates,
  addCertificates,
  (tx) => tx`update certificates set status = ${pick(["active", "revoked", "retired"])} where ctid = any(array(${anyOf(tx, "certificates")}))`,
  (tx) =>
    tx`update certificates set status = ${pick(["active", "revoked"])} where issuer = ${`CN=${any(4)}`} and utc_day(not_after) = utc_day(${daysAway(70)})`,
  (tx) => tx`update certificates set issuer_id = id, version = version + 1 where ctid = any(array(${anyOf(tx, "certificates")}))`,
  (tx) => tx`update certificates set not_after = ${daysAway(70)}, issuer = ${`CN=${any(4)}`} where ctid = any(array(${anyOf(tx, "certificates")}))`,
  (tx) => tx`
    delete from certificates c where ctid = any(array(${anyOf(tx, "certificates")}))
      and not exists (select from assignments a where (a.organization_id, a.certificate_id) = (c.organization_id, c.id))`,
  (tx) => tx`insert into agents (organization_id, id, name, token_hash) select ${pick(ORGANIZATIONS)}, id, '', uuid_send(id) from new_id() as id`,
  (tx) => tx`update agents set host = ${JSON.stringify({ platform: pick(["linux", "windows"]) })}::text::jsonb where ctid = any(array(${anyOf(tx, "agents")}))`,
  (tx) => tx`update agents set labels = '{"a": "b"}', host = case when ${isLikely()} then host end where ctid = any(array(${anyOf(tx, "agents")}))`,
  (tx) => tx`delete from agents where ${any(3)} = 0 and ctid = any(array(${anyOf(tx, "agents")}))`,
  addAssignments,
  addAssignments,
  addAssignments,
  report,
  report,
  (tx) => tx`update assignments set enabled = not enabled, updated_at = now(), version = version + 1 where ctid = any(array(${anyOf(tx, "assignments")}))`,
  (tx) => tx`update assignments set application_id = ${String(any(9))}, updated_at = now() where ctid = any(array(${anyOf(tx, "assignments")}))`,
  (tx) => tx`update assignments set material_type = ${pick(MATERIALS)} where trust_store_type = ${pick(STORES)} and ${any(20)} = 0`,
  (tx) => tx`delete from assignments where ctid = any(array(${anyOf(tx, "assignments")}))`,
  (tx) => addNotices(tx, 1 + any(400)),
  readSome,
  readSome,
  (tx) => (any(10) === 0 ? markAllRead(tx, pick(USERS)) : Promise.resolve()),
];

class TakenBack extends Error {}

/** One write, or several in a transaction, which may be taken back. */
async function write() {
  if (isLikely()) return pick(WRITES)(sql);
  await sql.begin(async (tx) => {
    for (let left = 1 + any(4); left > 0; left--) await pick(WRITES)(tx);
    if (any(3) === 0) throw new TakenBack();
  });
}

/** Racing writers lock rows in any order, and refer to rows that are deleted meanwhile: Postgres then takes one of them back whole. */
const isTakenBack = (error: unknown) => error instanceof TakenBack || /^(40P01|23503)$/.test(String((error as { code?: unknown }).code));

const inOneSnapshot = () => sql.begin((tx) => wrongCounts(tx), "isolation level repeatable read");

describe("the counts of certificates, assignments and read notices", () => {
  beforeAll(async () => {
    for (const id of ORGANIZATIONS) await sql`insert into organizations (id, name) values (${id}, 'Counted')`;
    for (const id of USERS) await sql`insert into users (id) values (${id})`;
  });

  test(`are the truth at every moment of ${OPERATIONS} random writes that race each other, a server that adds them up, and one that counts again`, async () => {
    let left = OPERATIONS;
    async function work() {
      while (left-- > 0) {
        await write().catch((error) => {
          if (!isTakenBack(error)) throw error;
        });
        if (left % 150 === 0) await foldCounts(sql);
        if (left % 2_500 === 0) await rebuildCounts(sql, () => {});
        if (left % 500 === 0) expect(await inOneSnapshot()).toEqual({});
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, work));
    expect(await inOneSnapshot()).toEqual({});
    await foldCounts(sql);
    const [row] = await sql`select (select count(*) from certificate_changes)::int + (select count(*) from coverage_changes)::int as unfolded`;
    expect(row?.unfolded).toBe(0);
    expect(await inOneSnapshot()).toEqual({});
    const [filled] = await sql`select (select count(*)::int from certificates) as certificates, (select count(*)::int from assignments) as assignments,
      (select count(*)::int from assignments where is_adrift) as drifts, (select sum(count)::int from inbox_reads) as reads`;
    expect(Object.values(filled ?? {}).every((count) => count > 20)).toBe(true);
  });

  test("are made good by counting again, with an event for each kind in the platform's trail", async () => {
    for (const table of ["certificate_counts", "certificate_kinds", "coverage_profiles", "inbox_reads"]) await sql.unsafe(`delete from ${table}`);
    await sql`update assignments set is_adrift = not is_adrift`;
    const wrong = Object.keys(await inOneSnapshot());
    expect(wrong.length).toBeGreaterThan(4);
    expect(wrong).toContain("drifts");
    const received: string[] = [];
    await rebuildCounts(sql, (line) => received.push(line));
    expect(await inOneSnapshot()).toEqual({});
    expect(received).toHaveLength(4);
    const events =
      await sql`select distinct target_id from platform_audit_events where action = 'counts.rebuilt' and actor->>'type' = 'command-line' order by 1`;
    expect(events.map((each) => each.target_id)).toEqual(["assignment-drifts", "certificates", "inbox-reads", "trust-store-coverage"]);
  });
});
