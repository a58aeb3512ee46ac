import type { Sql } from "#db/connect";
import { coverageOf } from "#modules/fleet/assignments/queries/counts";

const KIND = "issuer, key_algorithm, key_size, key_curve, signature_algorithm";
const KEY = `facts->'key'->>'algorithm', (facts->'key'->>'size')::int, facts->'key'->>'curve', facts->>'signatureAlgorithm'`;
const NIL = "00000000-0000-0000-0000-000000000000";
const ENDS = "(not_after at time zone 'UTC')::date";

/** The kept counts, and the same counted from the rows. */
const PAIRS: Record<string, [kept: string, counted: string]> = {
  days: [
    `select organization_id, starts, ${KIND}, sum(count) from (
      select c.organization_id, starts, ${KIND}, count from certificate_counts c join certificate_kinds k on (k.organization_id, k.id) = (c.organization_id, c.kind_id) where span = 'day'
      union all select organization_id, ends_on, ${KIND}, change from certificate_changes) as t group by 1, 2, 3, 4, 5, 6, 7 having sum(count) <> 0`,
    `select organization_id, ${ENDS}, issuer, ${KEY}, count(*) from certificates where status = 'active' group by 1, 2, 3, 4, 5, 6, 7`,
  ],
  months: [
    `select organization_id, starts, issuer, sum(count) from (
      select c.organization_id, starts, issuer, count from certificate_counts c join certificate_kinds k on (k.organization_id, k.id) = (c.organization_id, c.kind_id) where span = 'month'
      union all select organization_id, date_trunc('month', ends_on::timestamp)::date, issuer, change from certificate_changes) as t group by 1, 2, 3 having sum(count) <> 0`,
    `select organization_id, date_trunc('month', ${ENDS}::timestamp)::date, issuer, count(*) from certificates where status = 'active' group by 1, 2, 3`,
  ],
  "days of all kinds": [
    `select organization_id, starts, sum(count) from (
      select organization_id, starts, count from certificate_counts where span = 'all' and organization_id <> '${NIL}'
      union all select organization_id, ends_on, change from certificate_changes) as t group by 1, 2 having sum(count) <> 0`,
    `select organization_id, ${ENDS}, count(*) from certificates where status = 'active' group by 1, 2`,
  ],
  "days of all organizations": [
    `select starts, sum(count) from (
      select starts, count from certificate_counts where span = 'all' and organization_id = '${NIL}'
      union all select ends_on, change from certificate_changes) as t group by 1 having sum(count) <> 0`,
    `select ${ENDS}, count(*) from certificates where status = 'active' group by 1`,
  ],
  drifts: [
    `select organization_id, updated_at, id, agent_id, trust_store_type, enabled from assignments where is_adrift or (enabled and reported_state is null)`,
    `select a.organization_id, a.updated_at, a.id, agent_id, trust_store_type, enabled
    from assignments a join certificates c on (c.organization_id, c.id) = (a.organization_id, a.certificate_id)
    where case when reported_state is null then enabled when reported_state in ('failed', 'drifted') then true when not enabled then reported_state <> 'removed'
      else coalesce(reported_state <> 'installed' or reported_fingerprint <> fingerprint_sha256 or reported_at < a.updated_at, false) end`,
  ],
  "inbox reads": [
    `select user_id, block, count from inbox_reads`,
    `select user_id, (position - 1) / 1000, count(*) from notices where read_at is not null group by 1, 2`,
  ],
};

/** Returns the wrong and missing counts: none, at any moment. In one snapshot, `sql` being a transaction. */
export async function wrongCounts(sql: Sql) {
  const wrong: Record<string, unknown[]> = {};
  for (const [name, [kept, counted]] of Object.entries(PAIRS)) await compare(name, sql.unsafe(differences(kept, counted)));
  const organizations = await sql<{ id: string }[]>`select id from organizations`;
  for (const { id } of organizations) {
    const ofAgents = sql`
      select a.*, coalesce(host->>'platform', 'unknown') as platform from assignments a
      join agents on (agents.organization_id, agents.id) = (a.organization_id, a.agent_id) where a.organization_id = ${id}`;
    await compare(
      `assignments of ${id}`,
      sql`
      with kept as (select platform, store, material, is_enabled, sum(agents * times) from (${coverageOf(sql, id)}) as held group by 1, 2, 3, 4),
      counted as (select platform, trust_store_type, material_type, enabled, count(*) from (${ofAgents}) as a group by 1, 2, 3, 4)
      (table kept except table counted) union all (table counted except table kept)`,
    );
    await compare(
      `agents of ${id}`,
      sql`
      with kept as (select platform, store, sum(agents) from (select distinct holder, agents, platform, store from (${coverageOf(sql, id)}) as held) as held group by 1, 2),
      counted as (select platform, trust_store_type, count(distinct agent_id) from (${ofAgents}) as a group by 1, 2)
      (table kept except table counted) union all (table counted except table kept)`,
    );
  }
  async function compare(name: string, found: PromiseLike<readonly unknown[]>) {
    const rows = await found;
    if (rows.length > 0) wrong[name] = rows.slice(0, 5);
  }
  return wrong;
}

const differences = (kept: string, counted: string) =>
  `with kept as (${kept}), counted as (${counted}) (select 'kept' as which, * from (table kept except table counted) as k) union all (select 'counted', * from (table counted except table kept) as c)`;
