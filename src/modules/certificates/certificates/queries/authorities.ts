import { arrayOf, type Sql } from "#db/connect";

/** More have no subject in common. */
const MOST = 20;

/** Returns the PEM of stored authorities with this subject, those that are valid longest first. */
export async function listAuthorities(sql: Sql, organizationId: string, subjectHash: string) {
  const rows = await sql<{ pem: string }[]>`
    select pem from certificates where organization_id = ${organizationId} and subject_hash = ${subjectHash} and (is_ca or self_signed) and status = 'active'
    order by not_after desc, id limit ${MOST}`;
  return rows.map(({ pem }) => pem);
}

/** Returns which of these certificates are stored and active. */
export async function listActive(sql: Sql, organizationId: string, fingerprints: string[]) {
  const rows = await sql<{ fingerprint: string }[]>`
    select fingerprint_sha256 as fingerprint from certificates
    where organization_id = ${organizationId} and fingerprint_sha256 = any(${arrayOf(fingerprints)}::text[]) and status = 'active'`;
  return new Set(rows.map(({ fingerprint }) => fingerprint));
}
