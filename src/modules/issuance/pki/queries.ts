import { fromHex, type Stamp } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { type InIso, withDates } from "#modules/issuance/authorities/queries/dates";
import { audit, type Scope } from "#modules/people/audit/queries";

/** The publications of an authority. */
export type Publication = {
  organizationId: string;
  authorityId: string;
  crl: Uint8Array | null;
  crlNumber: number;
  crlNextUpdate: Date | null;
  crlDueAt: Date | null;
  responderCertificate: Uint8Array | null;
  sealedResponderKey: Uint8Array | null;
  responderDueAt: Date | null;
  /** The certificate of the authority, and when it ends. */
  pem: string;
  notAfter: Date;
};

/**
 * Returns an authority's publications, in any organization: callers know only the authority. `hold` waits for its row, or skips
 * one that is locked.
 */
export async function findPublication(sql: Sql, authorityId: string, hold?: "wait" | "skip"): Promise<Publication | undefined> {
  const [row] = await sql<InIso<Publication>[]>`
    select published.organization_id as "organizationId", authority_id as "authorityId", crl, crl_number::int as "crlNumber", iso(crl_next_update) as "crlNextUpdate",
      iso(crl_due_at) as "crlDueAt", responder_certificate as "responderCertificate", sealed_responder_key as "sealedResponderKey",
      iso(responder_due_at) as "responderDueAt", pem, iso(authority.not_after) as "notAfter"
    from authority_publications as published
    join authorities as authority on authority.organization_id = published.organization_id and authority.id = authority_id
    join certificates on certificates.organization_id = published.organization_id and certificates.id = certificate_id
    where authority_id = ${authorityId}
    ${hold ? sql`for no key update of published ${hold === "skip" ? sql`skip locked` : sql``}` : sql``}`;
  return row && withDates<Publication>(row, ["crlNextUpdate", "crlDueAt", "responderDueAt", "notAfter"]);
}

/** Returns what an authority has revoked, by its own row or by that of the certificate, but for what ended before `since`. */
export async function listRevoked(sql: Sql, { organizationId, authorityId }: Publication, since: Date) {
  const isOf = sql`issued.organization_id = ${organizationId} and issued.authority_id = ${authorityId} and issued.not_after > ${since.toISOString()}`;
  const rows = await sql<StatusRow[]>`
    select ${statusColumns(sql)} from issued_certificates as issued ${itsCertificate(sql)} where ${isOf} and issued.revoked_at is not null
    union all
    select ${statusColumns(sql)} from certificates
    join issued_certificates as issued on issued.organization_id = certificates.organization_id and issued.certificate_id = certificates.id
    where certificates.organization_id = ${organizationId} and certificates.status <> 'active' and certificates.revoked_at is not null and ${isOf} and issued.revoked_at is null
    order by "revokedAt", "serialNumber"`;
  return rows.map(toStatus);
}

export type SignedCrl = { der: Buffer; number: number; entries: number; signedAt: Date; nextUpdate: Date; dueAt: Date };

export const saveCrl = (sql: Sql, scope: Scope, authorityId: string, { der, number, entries, signedAt, nextUpdate, dueAt }: SignedCrl) => sql`
  with signed as (
    update authority_publications set crl = ${der}, crl_number = ${number}, crl_signed_at = ${signedAt.toISOString()},
      crl_next_update = ${nextUpdate.toISOString()}, crl_due_at = ${dueAt.toISOString()}
    where organization_id = ${scope.organizationId} and authority_id = ${authorityId} returning authority_id)
  ${audit(sql, scope, "authority.crl-signed", sql`select authority_id, jsonb_build_object('number', ${number}::bigint, 'entries', ${entries}::int) from signed`)}`;

/** Nothing is signed for an authority that has ended. */
export const endPublication = (sql: Sql, { organizationId, authorityId }: Publication) => sql`
  update authority_publications set crl_due_at = null, responder_due_at = null where organization_id = ${organizationId} and authority_id = ${authorityId}`;

export type Responder = { certificate: Uint8Array; sealedKey: Buffer; dueAt: Date | null };

export const saveResponder = (sql: Sql, scope: Scope, authorityId: string, { certificate, sealedKey, dueAt }: Responder) => sql`
  with renewed as (
    update authority_publications set responder_certificate = ${Buffer.from(certificate)}, sealed_responder_key = ${sealedKey},
      responder_due_at = ${dueAt?.toISOString() ?? null}
    where organization_id = ${scope.organizationId} and authority_id = ${authorityId} returning authority_id)
  ${audit(sql, scope, "authority.responder-renewed", sql`select authority_id, '{}'::jsonb from renewed`)}`;

/** Authorities of which a CRL or a responder is due, the longest first. */
export async function listDue(sql: Sql, now: Date, limit: number) {
  const rows = await sql<{ authorityId: string }[]>`
    select authority_id as "authorityId" from authority_publications where least(crl_due_at, responder_due_at) <= ${now.toISOString()}
    order by least(crl_due_at, responder_due_at) limit ${limit}`;
  return rows.map((each) => each.authorityId);
}

export type IssuedStatus = {
  id: string;
  organizationId: string;
  authorityId: string;
  serialNumber: string;
  notAfter: Date;
  revokedAt: Date | null;
  reason: string | null;
  answer: Uint8Array | null;
  nextUpdate: Date | null;
  certificateId: string;
  /** The status in the row of the certificate; its stamp proves it. */
  certificate: { fingerprintSha256: string; pem: string; status: string; statusStamp: Stamp; revokedAt: Date | null; reason: string | null };
};

type Moments = "notAfter" | "revokedAt" | "nextUpdate";
type Certificate = IssuedStatus["certificate"];
type CertificateRow = Omit<Certificate, "statusStamp" | "revokedAt"> & { statusStamp: string | null; revokedAt: string | null };
type StatusRow = InIso<Pick<IssuedStatus, Moments>> & Omit<IssuedStatus, Moments | "certificate"> & { certificate: CertificateRow };

/** Of the row `issued` and its certificate. */
const statusColumns = (
  sql: Sql,
) => sql`issued.id, issued.organization_id as "organizationId", issued.authority_id as "authorityId", issued.serial_number as "serialNumber",
  iso(issued.not_after) as "notAfter", iso(issued.revoked_at) as "revokedAt", issued.revocation_reason as reason, issued.ocsp_answer as answer,
  iso(issued.ocsp_next_update) as "nextUpdate", issued.certificate_id as "certificateId",
  json_build_object('fingerprintSha256', certificates.fingerprint_sha256, 'pem', certificates.pem, 'status', certificates.status,
    'statusStamp', encode(certificates.status_stamp, 'hex'), 'revokedAt', iso(certificates.revoked_at), 'reason', certificates.revocation_reason) as certificate`;

const itsCertificate = (sql: Sql) => sql`
  join certificates on certificates.organization_id = issued.organization_id and certificates.id = issued.certificate_id`;

function toStatus({ certificate, ...row }: StatusRow): IssuedStatus {
  const { statusStamp, revokedAt, ...rest } = certificate;
  return {
    ...withDates<Omit<IssuedStatus, "certificate">>(row, ["notAfter", "revokedAt", "nextUpdate"]),
    certificate: { ...rest, statusStamp: fromHex(statusStamp), revokedAt: revokedAt === null ? null : new Date(revokedAt) },
  };
}

/** The certificates of an authority with these serial numbers. */
export async function findStatuses(sql: Sql, authorityId: string, serialNumbers: readonly string[]) {
  const rows = await sql<StatusRow[]>`
    select ${statusColumns(sql)} from issued_certificates as issued ${itsCertificate(sql)}
    where issued.authority_id = ${authorityId} and issued.serial_number in (select jsonb_array_elements_text(${JSON.stringify(serialNumbers)}::jsonb))`;
  return rows.map(toStatus);
}

/** Certificates whose answer is due, locked until the transaction ends, so that a revocation comes after it. */
export async function takeDueAnswers(sql: Sql, now: Date, limit: number) {
  const rows = await sql<StatusRow[]>`
    select ${statusColumns(sql)} from issued_certificates as issued ${itsCertificate(sql)} where issued.ocsp_due_at <= ${now.toISOString()}
    order by issued.ocsp_due_at limit ${limit} for update of issued skip locked`;
  return rows.map(toStatus);
}

export type SignedAnswer = Pick<IssuedStatus, "id" | "organizationId" | "revokedAt" | "reason"> & {
  der: Uint8Array | null;
  nextUpdate: Date | null;
  dueAt: Date | null;
};

/** Keeps answers; not one that was overtaken by a revocation. */
export const saveAnswers = (sql: Sql, answers: readonly SignedAnswer[]) => sql`
  update issued_certificates as issued set ocsp_answer = given.answer, ocsp_next_update = given.next_update, ocsp_due_at = given.due_at
  from jsonb_to_recordset(${JSON.stringify(answers.map(toRecord))}::jsonb)
    as given (organization_id uuid, id uuid, answer bytea, next_update timestamptz, due_at timestamptz, revoked_at timestamptz, reason text)
  where issued.organization_id = given.organization_id and issued.id = given.id
    and issued.revoked_at is not distinct from given.revoked_at and issued.revocation_reason is not distinct from given.reason`;

const toRecord = ({ organizationId, id, der, nextUpdate, dueAt, revokedAt, reason }: SignedAnswer) => ({
  organization_id: organizationId,
  id,
  answer: der && `\\x${Buffer.from(der).toString("hex")}`,
  next_update: nextUpdate,
  due_at: dueAt,
  revoked_at: revokedAt,
  reason,
});
