import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Target } from "#db/outcome";

type Named = { organizationId: string; fingerprintSha256: string };

/** What is stamped of a certificate: that an import stored this one under this id, … */
export const identityOf = ({ organizationId, id, fingerprintSha256 }: Named & { id: string }): Facts => ["certificate", organizationId, id, fingerprintSha256];

/** … and its status: hosts lose a certificate that is not active. */
export const statusFacts = ({ organizationId, fingerprintSha256, status }: Named & { status: string }): Facts => [
  "certificate status",
  organizationId,
  fingerprintSha256,
  status,
];

/** Returns what stamps the statuses of a certificate; null where it is not what was imported under this id: then no status of it counts. */
export async function statusStamper(sql: Sql, stamps: Stamps, organizationId: string, { id }: Target) {
  const [row] = await sql<{ organizationId: string; id: string; fingerprintSha256: string; stamp: Stamp }[]>`
    select organization_id as "organizationId", id, fingerprint_sha256 as "fingerprintSha256", stamp from certificates
    where organization_id = ${organizationId} and id = ${id}`;
  return (status: string) => (row && stamps.hold(row.stamp, identityOf(row)) ? stamps.of(statusFacts({ ...row, status })) : null);
}
