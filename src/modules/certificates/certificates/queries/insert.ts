import { inJson, type Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { audit, auditMany, type Scope } from "#modules/people/audit/queries";
import type { ParsedCertificate } from "#x509/facts";
import { searchWords } from "../rules/search-terms";
import { identityOf, statusFacts } from "./stamps";

/** The outcome of an import for a stored certificate: new, or there before and perhaps retired until now. */
export type Stored = { id: string; isNew: boolean; isReactivated: boolean };
type CertificateRow = { fingerprint: string; json: string };

/** In characters of JSON: what one statement stores, so that other requests need not wait long for the database. */
const MAX_STATEMENT = 128 * 1024;

export function toRow(stamps: Stamps, organizationId: string, parsed: ParsedCertificate, sealed: Buffer | null, issuerId?: string): CertificateRow {
  const { commonName, subject, facts, fingerprintSha256: fingerprint } = parsed;
  const { dns, ip, email } = facts.subjectAlternativeNames;
  const id = Bun.randomUUIDv7();
  const named = { organizationId: organizationId.toLowerCase(), fingerprintSha256: fingerprint };
  const json = JSON.stringify({
    id,
    stamp: inJson(stamps.of(identityOf({ ...named, id }))),
    status_stamp: inJson(stamps.of(statusFacts({ ...named, status: "active", isRevoked: false }))),
    common_name: commonName,
    fingerprint_sha256: fingerprint,
    subject,
    issuer: parsed.issuer,
    subject_hash: parsed.subjectHash,
    issuer_hash: parsed.issuerHash,
    issuer_id: issuerId,
    not_before: parsed.notBefore.toISOString(),
    not_after: parsed.notAfter.toISOString(),
    is_ca: parsed.isCa,
    self_signed: parsed.selfSigned,
    facts,
    pem: parsed.pem,
    sealed_private_key: sealed && `\\x${sealed.toString("hex")}`,
    words: [organizationId, ...searchWords([commonName, subject, ...dns, ...ip, ...email].join(" "))],
  });
  return { fingerprint, json };
}

/** Groups rows into statements of bounded size; a row that is larger alone is a statement of its own. */
export function* toStatements(rows: Iterable<CertificateRow>) {
  let statement: CertificateRow[] = [];
  let size = 0;
  for (const row of rows) {
    if (size + row.json.length > MAX_STATEMENT && statement.length > 0) {
      yield statement;
      [statement, size] = [[], 0];
    }
    statement.push(row);
    size += row.json.length;
  }
  if (statement.length > 0) yield statement;
}

/**
 * Adds new certificates; a known one gets a missing private key, and is active again if it was retired and never revoked.
 * Returns each row's outcome by fingerprint.
 */
export async function insertRows(sql: Sql, scope: Scope, rows: CertificateRow[]): Promise<Map<string, Stored>> {
  const imported = sql`select id, jsonb_build_object('commonName', common_name, 'fingerprintSha256', fingerprint_sha256) from added`;
  const saved = await sql<({ fingerprint: string } & Stored)[]>`
    -- the certificates of the import
    with given as (
      select * from jsonb_to_recordset(${`[${rows.map((each) => each.json).join(",")}]`}::jsonb) as row (id uuid, common_name text, fingerprint_sha256 text,
        subject text, issuer text, subject_hash text, issuer_hash text, issuer_id uuid, not_before timestamptz, not_after timestamptz, is_ca boolean, self_signed boolean,
        facts jsonb, pem text, sealed_private_key bytea, words text[], stamp bytea, status_stamp bytea)),
    -- adds those that are new
    added as (
      insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, issuer_id, not_before, not_after,
        is_ca, self_signed, facts, pem, sealed_private_key, search, stamp, status_stamp)
      select ${scope.organizationId}, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, issuer_id, not_before, not_after,
        is_ca, self_signed, facts, pem, sealed_private_key, array_to_tsvector(words), stamp, status_stamp from given order by fingerprint_sha256
      on conflict (organization_id, fingerprint_sha256) do nothing returning id, fingerprint_sha256, common_name),
    -- locks those that are stored already; says what each of them gets
    present as (
      select c.*, given.sealed_private_key as given_key, given.status_stamp as active_stamp, lacks_key and given.sealed_private_key is not null as gets_key
      from (select * from given order by fingerprint_sha256) as given cross join lateral (
        select organization_id, id, fingerprint_sha256, sealed_private_key is null as lacks_key, status = 'retired' and revoked_at is null as is_reactivated
        from certificates where organization_id = ${scope.organizationId} and certificates.fingerprint_sha256 = given.fingerprint_sha256
        offset 0 for no key update) as c),
    -- adds private keys, and makes retired certificates active
    changed as (
      update certificates set sealed_private_key = case when gets_key then given_key else sealed_private_key end,
        status = case when is_reactivated then 'active' else status end,
        status_stamp = case when is_reactivated then active_stamp else status_stamp end, retired_at = case when not is_reactivated then retired_at end,
        version = version + 1, updated_at = now()
      from present where certificates.organization_id = present.organization_id and certificates.id = present.id and (gets_key or is_reactivated)),
    -- audit events of new certificates
    audited as (${auditMany(sql, scope, "certificate.imported", imported)}),
    -- audit events of added private keys
    audited_keys as (${audit(sql, scope, "certificate.key-added", sql`select id, '{}'::jsonb from present where gets_key`)}),
    -- audit events of certificates that are active again
    audited_returns as (${audit(sql, scope, "certificate.reactivated", sql`select id, '{}'::jsonb from present where is_reactivated`)})
    select id, fingerprint_sha256 as fingerprint, true as "isNew", false as "isReactivated" from added
    union all
    select id, fingerprint_sha256, false, is_reactivated from present`;
  const stored = new Map(saved.map(({ fingerprint, ...rest }) => [fingerprint, rest]));
  // A row that a racing import committed meanwhile is in no snapshot of the statement above.
  const missed = rows.filter((each) => !stored.has(each.fingerprint));
  return missed.length === 0 ? stored : new Map([...stored, ...(await insertRows(sql, scope, missed))]);
}
