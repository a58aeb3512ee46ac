import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { insertRows, toRow } from "#modules/certificates/certificates/queries/insert";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { ParsedCertificate } from "#x509/facts";
import { type InIso, withDates } from "./dates";

/**
 * Stores a certificate as one of the organization, with its issuer where that is stored. Returns its id, also where it was
 * there before.
 */
export async function storeCertificate(sql: Sql, stamps: Stamps, scope: Scope, parsed: ParsedCertificate, issuerId: string | undefined) {
  const stored = await insertRows(sql, scope, [toRow(stamps, scope.organizationId, parsed, null, issuerId)]);
  const row = stored.get(parsed.fingerprintSha256);
  if (!row) throw new Error("a certificate was not stored");
  return row.id;
}

/** True where the organization has these certificates, and one of them is revoked. */
export async function hasRevoked(sql: Sql, organizationId: string, certificates: readonly ParsedCertificate[]) {
  const fingerprints = JSON.stringify(certificates.map((each) => each.fingerprintSha256));
  const rows = await sql`
    select from certificates
    where organization_id = ${organizationId} and revoked_at is not null
      and fingerprint_sha256 in (select jsonb_array_elements_text(${fingerprints}::jsonb))`;
  return rows.length > 0;
}

export type Issue = {
  authorityId: string;
  serialNumber: string;
  certificateId: string;
  requestId: string | null;
  notAfter: Date;
  /** Further details for the audit trail. */
  details: Record<string, unknown>;
};

/** Keeps what an authority has issued. */
export async function keepIssued(sql: Sql, scope: Scope, { authorityId, serialNumber, certificateId, requestId, notAfter, details }: Issue) {
  const kept = JSON.stringify({ ...details, authorityId, serialNumber, requestId, notAfter: notAfter.toISOString() });
  await sql`
    with issued as (
      insert into issued_certificates (organization_id, id, authority_id, serial_number, certificate_id, request_id, not_after)
      values (${scope.organizationId}, ${Bun.randomUUIDv7()}, ${authorityId}, ${serialNumber}, ${certificateId}, ${requestId}, ${notAfter.toISOString()})
      returning certificate_id)
    ${audit(sql, scope, "certificate.issued", sql`select certificate_id, ${kept}::jsonb from issued`)}`;
}

export type Issued = { certificateId: string; serialNumber: string; notAfter: Date; pem: string; authorityId: string };

/** Returns the certificate that was issued for an order. */
export async function findIssued(sql: Sql, organizationId: string, requestId: string) {
  const [row] = await sql<InIso<Issued>[]>`
    select certificate_id as "certificateId", serial_number as "serialNumber", iso(issued.not_after) as "notAfter", pem, authority_id as "authorityId"
    from issued_certificates as issued
    join certificates on certificates.organization_id = issued.organization_id and certificates.id = issued.certificate_id
    where issued.organization_id = ${organizationId} and request_id = ${requestId}`;
  return row && withDates<Issued>(row, ["notAfter"]);
}
