import type { Sql } from "#db/connect";
import { certificateJson, joinFacts, type OfFacts, statusOf } from "./certificates";
import { deploymentsOf } from "./deployments";

/** A reader: a user, who must be a member of the organization, or an API token, which must be of the organization. */
type Reader = { userId: string } | { organizationId: string };

const mayRead = (sql: Sql, organizationId: string, reader: Reader) =>
  "userId" in reader
    ? sql`exists (select from members m where m.organization_id = ${organizationId} and m.user_id = ${reader.userId} and m.status = 'active')`
    : sql`${organizationId}::uuid = ${reader.organizationId}`;

/**
 * Returns a certificate with its chain and deployments, for who may read it, else undefined. Most have neither, so each is a
 * statement of its own.
 */
export async function findDetailsForMember(sql: Sql, organizationId: string, id: string, reader: Reader, now: Date) {
  const daysRemaining = sql`greatest(0, floor(extract(epoch from not_after - ${now.toISOString()}::timestamptz) / 86400)::int)`;
  const [row] = await sql<(OfFacts & { issuerId: string | null; isDeployed: boolean })[]>`
    select ${certificateJson(sql, now, sql`, 'pem', pem, 'daysRemaining', ${daysRemaining}`)}, issuer_id as "issuerId",
      exists (select from assignments a where a.organization_id = c.organization_id and a.certificate_id = c.id) as "isDeployed"
    from certificates c where organization_id = ${organizationId} and id = ${id} and ${mayRead(sql, organizationId, reader)}`;
  if (!row) return;
  const [chain, { count, deployments }] = await Promise.all([
    row.issuerId === null ? "[]" : readChain(sql, organizationId, row.issuerId, now),
    row.isDeployed ? readDeployments(sql, organizationId, id) : { count: 0, deployments: "[]" },
  ]);
  return `${joinFacts(row).slice(0, -1)}, "chain": ${chain}, "deploymentCount": ${count}, "deployments": ${deployments}}`;
}

/** Returns an issuer and those above it, at most ten, as JSON. */
async function readChain(sql: Sql, organizationId: string, issuerId: string, now: Date) {
  const [row] = await sql<{ chain: string }[]>`
    with recursive chain as (
      select c.*, 1 as depth from certificates c where organization_id = ${organizationId} and id = ${issuerId}
      union all
      select issuer.*, depth + 1 from chain join certificates issuer
        on issuer.organization_id = chain.organization_id and issuer.id = chain.issuer_id where depth < 10)
    select coalesce(json_agg(json_build_object('id', id, 'commonName', common_name, 'subject', subject, 'fingerprintSha256', fingerprint_sha256,
      'notAfter', iso(not_after), 'isCa', is_ca, 'selfSigned', self_signed, 'status', ${statusOf(sql, now)}, 'pem', pem) order by depth), '[]')::text as chain
    from chain`;
  return row?.chain ?? "[]";
}

/** Returns how many deployments there are, and the first as JSON: a root may be on a whole fleet. */
async function readDeployments(sql: Sql, organizationId: string, certificateId: string) {
  // An id of the row, not of the request: some certificates are on three hosts and some on all, so Postgres would plan every call for its own.
  const held = { organizationId: sql`c.organization_id`, certificateId: sql`c.id`, limit: sql`1000` };
  const [row] = await sql<{ count: number; deployments: string }[]>`
    select (select count(*)::int from assignments a where a.organization_id = c.organization_id and a.certificate_id = c.id) as count,
      (select coalesce(json_agg(deployment order by id), '[]')::text from (${deploymentsOf(sql, held)}) as first) as deployments
    from certificates c where organization_id = ${organizationId} and id = ${certificateId}`;
  return row ?? { count: 0, deployments: "[]" };
}
