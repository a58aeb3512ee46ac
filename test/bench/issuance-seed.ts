import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { type Organization, seed } from "./seed";

/** Issuers of each organization; the last of them rests. */
const ISSUERS = 4;
/** Certificates live for 47 days: over so many days the half of them is due that was not renewed, a hundredth of all each day. */
const DAYS = 47;

export type IssuingOrganization = Organization & { issuerIds: string[] };

/** Fills an empty database with organizations whose certificates are all looked after by issuers of theirs, each with the request that it was issued by. */
export async function seedIssuance(url: string, sizes: number[]): Promise<IssuingOrganization[]> {
  const organizations = (await seed(url, sizes)).map((each, index) => ({ ...each, issuerIds: Array.from({ length: ISSUERS }, (_, n) => issuerId(index, n)) }));
  const sql = connectDatabase(url, MAINTENANCE).$client;
  for (const each of organizations) await insertIssuers(sql, each);
  for (const table of ["certificate_requests", "renewals", "certificate_request_steps", "issued_certificates"])
    await withoutIndexes(sql, table, () => Promise.all(organizations.map((each) => fill(sql, table, each))));
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
  await sql.end();
  return organizations;
}

const issuerId = (organization: number, n: number) => `018f0000-0000-7000-a000-${`${organization}${n}`.padStart(12, "0")}`;

async function insertIssuers(sql: Pool, { id, issuerIds }: IssuingOrganization) {
  await sql`
    insert into issuers (organization_id, id, kind, name, config, retry_at, failures)
    select ${id}, issuer::uuid, 'acme', 'Issuer ' || n, '{}', case when n = ${ISSUERS} then now() + interval '1 hour' end, case when n = ${ISSUERS} then 7 else 0 end
    from jsonb_array_elements_text(${JSON.stringify(issuerIds)}::text::jsonb) with ordinality as given (issuer, n)`;
  await sql`insert into renewal_rests (organization_id, issuer_id, failures, rests_until) values (${id}, ${issuerIds.at(-1) ?? ""}, 7, now() + interval '1 hour')`;
}

/** The part of an insert that each table takes from the certificates `c` of an organization; `chance` is from 0 to 999. */
async function fill(sql: Pool, table: string, { id, issuerIds }: IssuingOrganization) {
  const [first = ""] = issuerIds;
  const certificates = sql`(
    select *, abs(hashtext(id::text)) % 1000 as chance, (${first.slice(0, -1)} || abs(hashtext(id::text || 'issuer')) % ${ISSUERS})::uuid as issued_by,
      now() + abs(hashtext(id::text || 'renew')) % ${DAYS * 86_400} * interval '1 second' as moment
    from certificates where organization_id = ${id}) as c`;
  const filling: Record<string, () => PromiseLike<unknown>> = {
    // One in a hundred has failed, as many are open, and a thousand of all share a name.
    certificate_requests: () => sql`
      insert into certificate_requests (organization_id, id, issuer_id, names, names_hash, key_algorithm, key_location, csr, auto_renew, status, reason, certificate_id, due_at, created_by,
        ended_at, search)
      select organization_id, id, issued_by, jsonb_build_array(jsonb_build_object('type', 'dns', 'value', id || '.example.org')), encode(sha256(id::text::bytea), 'hex'), 'ecdsa-p256',
        'server', sha256(id::text::bytea) || sha256(id::text::bytea) || sha256(id::text::bytea) || sha256(id::text::bytea) || sha256(id::text::bytea), true,
        (case when chance < 10 then 'failed' when chance < 20 then 'pending' else 'issued' end)::certificate_request_status, case when chance < 10 then 'It failed.' end,
        case when chance >= 20 then id end, case when chance between 10 and 19 then moment end, '{"type": "server"}', case when chance not between 10 and 19 then now() end,
        array_to_tsvector(array[organization_id::text, id || '.example.org'] || case when chance = 999 then array['shared.example.org'] else '{}' end)
      from ${certificates}`,
    certificate_request_steps: () => sql`
      insert into certificate_request_steps (organization_id, request_id, id, status) select organization_id, id, new_id(), 'issued' from ${certificates}`,
    renewals: () => sql`
      insert into renewals (organization_id, certificate_id, issuer_id, template_id, state, is_planned, renew_at, late_at, late_since, look_at, ask_window_at, failures, failure, successor_id)
      select organization_id, id, issued_by, id, state::renewal_state, true, moment, moment + interval '8 days', case when state = 'failed' then now() end,
        case when state in ('scheduled', 'failed') then moment when state = 'issued' then now() end, case when state = 'scheduled' then moment end,
        case when state = 'failed' then 1 else 0 end, case when state = 'failed' then 'It failed.' end, case when state in ('issued', 'renewed') then id end
      from (
        select organization_id, id, issued_by, case when state in ('ended', 'renewed') then moment - interval '100 days' else moment end as moment, state
        from ${certificates} cross join lateral (
          select case when chance < 5 then 'failed' when chance < 10 then 'ordered' when chance < 12 then 'issued' when chance < 50 then 'ended' when chance < 530 then 'renewed'
            else 'scheduled' end as state) as chosen) as each`,
    issued_certificates: () => sql`
      insert into issued_certificates (organization_id, id, authority_id, serial_number, certificate_id, request_id, not_after, revoked_at, ocsp_answer, ocsp_due_at)
      select organization_id, id, issued_by, replace(id::text, '-', ''), id, id, not_after, revoked_at, facts::text::bytea, moment from ${certificates}`,
  };
  await filling[table]?.();
}

/** Loading is faster without the secondary indexes. */
export async function withoutIndexes(sql: Pool, table: string, work: () => Promise<unknown>) {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes where tablename = ${table} and indexname not like '%pk'`;
  for (const { name } of indexes) await sql.unsafe(`drop index "${name}"`);
  await work();
  for (const { definition } of indexes) await sql.unsafe(definition);
}
