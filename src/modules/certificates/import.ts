import { createPrivateKey, type KeyObject, type X509Certificate } from "node:crypto";
import { seal } from "../../crypto/seal";
import { arrayOf, type Pool, type Sql } from "../../db/connect";
import { auditEach, type Scope } from "../audit/queries";
import { linkChains } from "./chains";
import type { ImportReport } from "./schema";
import { searchWords } from "./words";
import { DerError } from "./x509/der";
import { type ParsedCertificate, parseCertificate } from "./x509/facts";
import { type PemBlock, readPem } from "./x509/pem";

type Candidate = ParsedCertificate & { index: number };
type Material = { pem: string; privateKeyPem?: string | undefined };

/**
 * Stores every certificate of a PEM text. A block that cannot be read is reported by its index and stops nothing else;
 * a text without one good block, and a private key that fits none of them, answer `fault` and store nothing.
 */
export async function importCertificates(
  sql: Pool,
  secretsKey: Uint8Array,
  scope: Scope,
  { pem, privateKeyPem }: Material,
): Promise<ImportReport | { fault: string }> {
  const { good, refused } = readBlocks(readPem(pem));
  const [first] = refused;
  if (good.length === 0)
    return { fault: first ? `body.pem, block ${first.index}: ${first.message}` : "body.pem holds no PEM block (-----BEGIN CERTIFICATE-----)." };
  const owner = privateKeyPem === undefined ? undefined : findKeyOwner(privateKeyPem, good);
  if (owner === "unreadable") return { fault: "body.privateKeyPem is not an unencrypted private key in PEM." };
  if (owner === "no match") return { fault: "body.privateKeyPem is not the private key of any certificate in body.pem." };
  const unique = [...new Map(good.toReversed().map((each) => [each.fingerprintSha256, each])).values()];
  const rows = unique.map((each) => {
    const id = Bun.randomUUIDv7();
    const sealed =
      each.fingerprintSha256 === owner?.fingerprintSha256
        ? seal(secretsKey, privateKeyPem ?? "", keyContext(scope.organizationId, each.fingerprintSha256))
        : null;
    return toRow(scope.organizationId, id, each, sealed);
  });
  const ids = await sql.begin(async (tx) => {
    const stored = await insertRows(tx, scope, rows);
    const added = unique.flatMap((each) => {
      const { id, isNew } = stored.get(each.fingerprintSha256) ?? {};
      return id && isNew ? [{ id, ...each }] : [];
    });
    await linkChains(tx, scope.organizationId, added);
    return stored;
  });
  const report: ImportReport = { imported: [], duplicates: [], refused };
  for (const { index, commonName, fingerprintSha256 } of good) {
    const stored = ids.get(fingerprintSha256);
    if (!stored) throw new Error(`certificate ${fingerprintSha256} vanished during its import`);
    const isFirst = unique.some((each) => each.index === index);
    if (stored.isNew && isFirst) report.imported.push({ index, id: stored.id, commonName, fingerprintSha256 });
    else report.duplicates.push({ index, id: stored.id, fingerprintSha256 });
  }
  return report;
}

/** What a sealed private key is bound to: it opens in no other organization and for no other certificate. */
export const keyContext = (organizationId: string, fingerprint: string) => `certificate-key ${organizationId} ${fingerprint}`;

function readBlocks(blocks: PemBlock[]) {
  const good: Candidate[] = [];
  const refused: ImportReport["refused"] = [];
  for (const [index, block] of blocks.entries()) {
    const read = readBlock(block);
    if ("fault" in read) refused.push({ index, message: read.fault });
    else good.push({ index, ...read });
  }
  return { good, refused };
}

function readBlock(block: PemBlock): ParsedCertificate | { fault: string } {
  if (/PRIVATE KEY/.test(block.label)) return { fault: "It is a private key. Send it as body.privateKeyPem, next to its certificate." };
  if (block.label !== "CERTIFICATE" && block.label !== "X509 CERTIFICATE") return { fault: `It is a ${block.label}, not a CERTIFICATE.` };
  if ("fault" in block) return { fault: `It cannot be read: ${block.fault}.` };
  try {
    return parseCertificate(block.bytes);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { fault: `It is not a certificate: ${error.message}.` };
  }
}

function findKeyOwner(privateKeyPem: string, certificates: Candidate[]) {
  const key = openPrivateKey(privateKeyPem);
  if (!key) return "unreadable";
  return certificates.find((each) => belongs(each.x509, key)) ?? "no match";
}

function openPrivateKey(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    return;
  }
}

function belongs(certificate: X509Certificate, key: KeyObject) {
  try {
    return certificate.checkPrivateKey(key);
  } catch {
    return false; // a key type that this platform cannot use
  }
}

function toRow(organizationId: string, id: string, parsed: Candidate, sealed: Buffer | null) {
  const { commonName, subject, facts } = parsed;
  const { dns, ip, email } = facts.subjectAlternativeNames;
  return {
    id,
    common_name: commonName,
    fingerprint_sha256: parsed.fingerprintSha256,
    subject,
    issuer: parsed.issuer,
    subject_hash: parsed.subjectHash,
    issuer_hash: parsed.issuerHash,
    not_before: parsed.notBefore.toISOString(),
    not_after: parsed.notAfter.toISOString(),
    is_ca: parsed.isCa,
    self_signed: parsed.selfSigned,
    facts,
    pem: parsed.pem,
    sealed_private_key: sealed && `\\x${sealed.toString("hex")}`,
    words: [organizationId, ...searchWords([commonName, subject, ...dns, ...ip, ...email].join(" "))],
  };
}

type Row = ReturnType<typeof toRow>;

/** Adds what is new and, to a certificate that came before without its private key, the key. */
async function insertRows(sql: Sql, scope: Scope, rows: Row[]) {
  const stored = await sql<{ id: string; fingerprint: string; isNew: boolean }[]>`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as row (id uuid, common_name text, fingerprint_sha256 text, subject text, issuer text,
        subject_hash text, issuer_hash text, not_before timestamptz, not_after timestamptz, is_ca boolean, self_signed boolean, facts jsonb, pem text,
        sealed_private_key bytea, words text[])),
    saved as (
      insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
        is_ca, self_signed, facts, pem, sealed_private_key, search)
      select ${scope.organizationId}, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after,
        is_ca, self_signed, facts, pem, sealed_private_key, array_to_tsvector(words) from given order by fingerprint_sha256
      on conflict (organization_id, fingerprint_sha256) do update
        set sealed_private_key = excluded.sealed_private_key, version = certificates.version + 1, updated_at = now()
        where certificates.sealed_private_key is null and excluded.sealed_private_key is not null
      returning id, fingerprint_sha256, common_name, version = 1 as is_new),
    audited as (${auditEach(
      sql,
      scope,
      "certificate.imported",
      "certificate",
      sql`
      select id, jsonb_build_object('commonName', common_name, 'fingerprintSha256', fingerprint_sha256) from saved where is_new`,
    )}),
    audited_keys as (${auditEach(sql, scope, "certificate.key-added", "certificate", sql`select id, '{}'::jsonb from saved where not is_new`)})
    select id, fingerprint_sha256 as fingerprint, is_new as "isNew" from saved
    union all
    select certificates.id, certificates.fingerprint_sha256, false from certificates join given using (fingerprint_sha256)
    where organization_id = ${scope.organizationId}`;
  // A row that a racing import committed meanwhile is in no snapshot of the statement above.
  const missing = rows.filter((row) => !stored.some((each) => each.fingerprint === row.fingerprint_sha256)).map((row) => row.fingerprint_sha256);
  const raced =
    missing.length === 0
      ? []
      : await sql<typeof stored>`
    select id, fingerprint_sha256 as fingerprint, false as "isNew" from certificates
    where organization_id = ${scope.organizationId} and fingerprint_sha256 = any(${arrayOf(missing)}::text[])`;
  return new Map([...raced, ...stored].toReversed().map((each) => [each.fingerprint, { id: each.id, isNew: each.isNew }]));
}
