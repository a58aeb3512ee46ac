import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Target } from "#db/outcome";

type Named = { organizationId: string; fingerprintSha256: string };

/** The stamped facts of a certificate: an import stored this one under this id, … */
export const identityOf = ({ organizationId, id, fingerprintSha256 }: Named & { id: string }): Facts => ["certificate", organizationId, id, fingerprintSha256];

type Status = Named & { status: string; isRevoked: boolean };

/** … and its status: hosts lose a certificate that is not active, and OCSP answers what is revoked. */
export const statusFacts = ({ organizationId, fingerprintSha256, status, isRevoked }: Status): Facts => [
  "certificate status",
  organizationId,
  fingerprintSha256,
  status === "retired" && isRevoked ? "retired and revoked" : status,
];

/** The facts that earlier releases stamped of a certificate that is retired and revoked. */
export const formerStatusFacts = (status: Status) => statusFacts({ ...status, isRevoked: false });

/** True where a server gave the certificate its status. */
export const isStatusProven = (stamps: Stamps, stamp: Stamp, status: Status) =>
  stamps.hold(stamp, statusFacts(status)) || stamps.hold(stamp, formerStatusFacts(status));

/** Returns what stamps the statuses of a certificate; null where it is not what was imported under this id: then no status of it counts. */
export async function statusStamper(sql: Sql, stamps: Stamps, organizationId: string, { id }: Target) {
  const [row] = await sql<{ organizationId: string; id: string; fingerprintSha256: string; stamp: Stamp }[]>`
    select organization_id as "organizationId", id, fingerprint_sha256 as "fingerprintSha256", stamp from certificates
    where organization_id = ${organizationId} and id = ${id}`;
  const isKnown = row && stamps.hold(row.stamp, identityOf(row));
  return (status: string, isRevoked = status === "revoked") => (isKnown ? stamps.of(statusFacts({ ...row, status, isRevoked })) : null);
}
