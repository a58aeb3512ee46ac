import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";

/** The certificate of a row called `authority`. */
export const pemOf = (sql: Sql) => sql`(
  select pem from certificates where certificates.organization_id = authority.organization_id and certificates.id = authority.certificate_id)`;

/** The stamped facts of a row called `authority`: its certificate, and what it may issue. */
export const authorityFacts = (facts: Record<string, unknown>): Facts => ["authority", facts];
export const authorityFactsJson = (
  sql: Sql,
) => sql`json_build_object('organizationId', organization_id, 'id', id, 'kind', kind, 'status', status, 'enabled', enabled,
  'publicKey', public_key, 'certificatePem', ${pemOf(sql)}, 'chainPem', chain_pem, 'pathLength', path_length, 'constraints', constraints, 'notBefore', iso(not_before),
  'notAfter', iso(not_after), 'profiles', profiles, 'publicUrl', public_url)`;

/** Stamps an authority as this transaction has written it. */
export async function stampAuthority(tx: Sql, stamps: Stamps, organizationId: string, id: string) {
  const isIt = tx`organization_id = ${organizationId} and id = ${id}`;
  const [row] = await tx<{ facts: Record<string, unknown> }[]>`select ${authorityFactsJson(tx)} as facts from authorities as authority where ${isIt}`;
  if (row) await tx`update authorities set stamp = ${stamps.of(authorityFacts(row.facts))}::bytea where ${isIt}`;
}

/** True where a server has made the authority what it is. */
export const isAuthorityProven = (stamps: Stamps, { facts, stamp }: { facts: Record<string, unknown>; stamp: Stamp }) =>
  stamps.hold(stamp, authorityFacts(facts));
