import { arrayOf, type Pool, type Sql } from "#db/connect";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import type { HostProofType } from "#modules/issuance/issuing/rules/host-proofs";
import type { Room } from "#modules/platform/jobs/rules";
import type { OpenStatus } from "../rules/next";
import { type RequestProof, requestProofJson } from "./asked-keys";

/** The time for which a server has a request, unless it says again that it is at work on it; a killed one lets it go then. */
export const LEASE = "15 seconds";

/** A request that this server has, until `until`. Where it has ended, only its proofs are left to be taken away. */
export type Claim = {
  organizationId: string;
  id: string;
  issuerId: string;
  issuerFailures: number;
  until: string;
  names: Name[];
  keyAlgorithm: string;
  keyLocation: string;
  csr: Uint8Array | null;
  proof: RequestProof;
  sealedPrivateKey: Uint8Array | null;
  profile: string | null;
  replaces: string | null;
  replacedPem: string | null;
  replacedLifetimeMs: number | null;
  hostProof: HostProofType | null;
  status: OpenStatus;
  hasEnded: boolean;
  progress: unknown;
  attempts: number;
  failingSince: Date | null;
};

/**
 * Takes requests that are due at the issuer whose turn it is, one alone of an issuer that has failed; undefined where no
 * issuer with room has any. `isOwn`: authorities of organizations.
 */
export const claimRequests = (pool: Pool, { fullOrganizations, fullTargets, of }: Room, { isOwn }: { isOwn: boolean }) =>
  pool.begin(async (tx) => {
    const [issuer] = await tx<{ organizationId: string; id: string; hasFailed: boolean }[]>`
      select organization_id as "organizationId", id, failures > 0 as "hasFailed" from issuers
      where due_at <= now() and (kind = 'internal') = ${isOwn} and organization_id <> all(${arrayOf(fullOrganizations)}::uuid[])
        and id <> all(${arrayOf(fullTargets)}::uuid[])
      order by due_at limit 1 for update skip locked`;
    if (!issuer) return;
    const { organizationId, id, hasFailed } = issuer;
    const limit = hasFailed ? 1 : of({ organizationId, targetId: id });
    const isOfIssuer = tx`organization_id = ${organizationId} and issuer_id = ${id}`;
    const claims = await tx<Claim[]>`
      with due as (
        select id from certificate_requests where ${isOfIssuer} and due_at <= now() order by due_at limit ${limit} for update skip locked),
      claimed as (
        update certificate_requests r set due_at = now() + ${LEASE}::interval, claimed_until = now() + ${LEASE}::interval
        from due where r.organization_id = ${organizationId} and r.id = due.id returning r.*)
      select claimed.organization_id as "organizationId", claimed.id, issuer_id as "issuerId", i.failures as "issuerFailures", iso(claimed_until) as until, names,
        key_algorithm as "keyAlgorithm", key_location as "keyLocation", csr, sealed_private_key as "sealedPrivateKey", profile, replaces,
        ${requestProofJson(tx, tx`claimed`)} as proof,
        replaced.pem as "replacedPem", replaced.lifetime_ms as "replacedLifetimeMs", deployment->'proof'->>'type' as "hostProof",
        status, ended_at is not null as "hasEnded", progress, attempts, iso(failing_since) as "failingSince"
      from claimed join issuers i on i.organization_id = claimed.organization_id and i.id = issuer_id
      left join lateral (
        select pem, (extract(epoch from not_after - not_before) * 1000)::float8 as lifetime_ms from certificates c where c.organization_id = claimed.organization_id and c.id = replaces) as replaced on true`;
    // Behind the others that are due, and a little later where another server has locked what is due. One that has failed waits
    // for the outcome.
    const next = claims.length > 0 ? tx`now()` : tx`now() + interval '100 milliseconds'`;
    await tx`
      update issuers i set due_at = case when ${hasFailed && claims.length > 0} then now() + ${LEASE}::interval else (
        select greatest(r.due_at, ${next}, i.retry_at) from certificate_requests r where ${isOfIssuer} and r.due_at is not null order by r.due_at limit 1) end
      where organization_id = ${organizationId} and id = ${id}`;
    return claims.map((claim) => ({ ...claim, failingSince: claim.failingSince && new Date(claim.failingSince) }));
  });

/** Says that this server is still at work on a request, which is then the only one of an issuer that has failed. */
export async function extendClaim(sql: Sql, claim: Claim) {
  const { organizationId, id, issuerId, issuerFailures } = claim;
  const [row] = await sql<{ until: string }[]>`
    update certificate_requests set claimed_until = now() + ${LEASE}::interval, due_at = now() + ${LEASE}::interval
    where organization_id = ${organizationId} and id = ${id} and claimed_until = ${claim.until} returning iso(claimed_until) as until`;
  if (!row) return;
  claim.until = row.until;
  if (issuerFailures === 0) return;
  await sql`
    update issuers set due_at = greatest(due_at, ${row.until}) where organization_id = ${organizationId} and id = ${issuerId} and failures = ${issuerFailures}`;
}
