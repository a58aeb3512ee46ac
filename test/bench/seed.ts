import { rootCertificates } from "node:tls";
import { connectDatabase, type Sql } from "#db/connect";
import { migrate } from "#db/migrate";
import { searchWords } from "#modules/certificates/certificates/rules/search-terms";
import { rebuildCounts } from "#modules/core/widgets/queries/counts";
import { parseCertificate } from "#x509/facts";
import { readPem } from "#x509/pem";

export type Organization = { id: string; size: number; certificateId: string };

const BATCH = 50_000;
export const USER = organizationId(999_999);

/**
 * Fills an empty database with organizations of the given sizes and answers them, each with the id of a certificate
 * that has a chain of two and three deployments. Every row is as large as a real one: it is a copy of a public root.
 */
export async function seed(url: string, sizes: number[]): Promise<Organization[]> {
  const db = connectDatabase(url, { max: 2, statementTimeout: 0, silence: 0 });
  const sql = db.$client;
  const organizations = sizes.map((size, index) => ({ id: organizationId(index), size, certificateId: certificateId(index, 3) }));
  await migrate(sql);
  await createRoots(sql);
  await sql`insert into organizations (id, name) select id, 'Organization ' || size from jsonb_to_recordset(${JSON.stringify(organizations)}::jsonb) as row (id uuid, size int)`;
  await sql`insert into users (id, email) values (${USER}, 'bench@people.example')`;
  const indexes = await dropIndexes(sql);
  await sql`alter table certificates disable trigger user`;
  await Promise.all(sizes.flatMap((size, index) => batches(size).map(([from, to]) => insertCertificates(sql, index, from, to))));
  await Promise.all(indexes.map((index) => sql.unsafe(index)));
  await sql`insert into members (organization_id, id, user_id, email, role, status) select id, id, ${USER}, 'bench@people.example', 'ORG_ADMIN', 'active' from organizations`;
  await sql`alter table certificates enable trigger user`; // they are linked already, and counted at once
  await rebuildCounts(sql, () => {});
  await insertDeployments(sql);
  await sql`drop table roots`;
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
  await sql.end();
  return organizations;
}

function organizationId(index: number) {
  return `018f0000-0000-7000-8000-${String(index).padStart(12, "0")}`;
}

/** Ordered by `n`, as UUIDv7 are by time. */
function certificateId(organization: number, n: number) {
  return `018f${n
    .toString(16)
    .padStart(8, "0")
    .replace(/^(.{4})/, "$1-")}-7000-8000-${String(organization).padStart(12, "0")}`;
}

const batches = (size: number) =>
  Array.from({ length: Math.ceil(size / BATCH) }, (_, index) => [index * BATCH + 1, Math.min(size, (index + 1) * BATCH)] as const);

async function createRoots(sql: Sql) {
  const rows = rootCertificates.flatMap(readPem).map((block, n) => {
    if ("fault" in block) throw new Error(block.fault);
    const { x509, ...parsed } = parseCertificate(block.bytes);
    return { n, ...parsed, words: searchWords(`${parsed.commonName} ${parsed.subject}`) };
  });
  await sql`
    create table roots as select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as row
      (n int, "commonName" text, subject text, issuer text, "subjectHash" text, "issuerHash" text, facts jsonb, pem text, words text[])`;
}

/** Loading is three times faster without the secondary indexes; answers the statements that bring them back. */
async function dropIndexes(sql: Sql) {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes where tablename = 'certificates' and indexname not like '%pk'`;
  for (const { name } of indexes) await sql.unsafe(`drop index "${name}"`);
  return indexes.map((each) => each.definition);
}

/** The first of an organization is a root, the second an intermediate, which issued the others; one in twelve has expired, one in fifty is revoked. */
function insertCertificates(sql: Sql, organization: number, from: number, to: number) {
  const id = (n: string) => sql.text(`('018f' || lpad(to_hex(${n}), 8, '0') || '70008000' || lpad('${organization}', 12, '0'))::uuid`);
  return sql`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, issuer_id,
      not_before, not_after, is_ca, self_signed, facts, pem, status, revoked_at, revocation_reason, search)
    select ${organizationId(organization)}, ${id("i")}, "commonName", encode(sha256((${organization}::int || ' ' || i)::bytea), 'hex'), subject, issuer, "subjectHash", "issuerHash",
      case when i = 1 then null when i = 2 then ${id("1")} else ${id("2")} end,
      now() - interval '400 days', now() + (random() * 1200 - 100) * interval '1 day', true, i = 1, facts, pem,
      (case when i % 50 = 0 then 'revoked' else 'active' end)::certificate_status, case when i % 50 = 0 then now() end, case when i % 50 = 0 then 'superseded' end,
      array_to_tsvector(array[${organizationId(organization)}] || words)
    from generate_series(${from}::int, ${to}::int) as i join roots on n = i % (select count(*) from roots)`;
}

async function insertDeployments(sql: Sql) {
  await sql`
    insert into agents (organization_id, id, name, token_hash)
    select organizations.id, new_id(), 'host-' || n, sha256((organizations.id::text || n)::bytea) from organizations, generate_series(1, 3) n`;
  await sql`
    insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
      config, target, auto_renew, enabled, reported_state, reported_at)
    select a.organization_id, new_id(), a.id, c.id, 'shop', 'LINUX_CA_CERTIFICATES', 'trust_anchor', false, '{}', a.name, true, true, 'installed', now()
    from agents a join certificates c on c.organization_id = a.organization_id and c.id::text like '018f0000-0003-%'`;
}
