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

/** Returns an issuer and those above it, at most ten, as JSON. What recurs is narrow: whole rows would take twice as long. */
async function readChain(sql: Sql, organizationId: string, issuerId: string, now: Date) {
  const link = sql`json_build_object('id', id, 'commonName', common_name, 'subject', subject, 'fingerprintSha256', fingerprint_sha256,
    'notAfter', iso(not_after), 'isCa', is_ca, 'selfSigned', self_signed, 'status', ${statusOf(sql, now)}, 'pem', pem)::text`;
  const links = await sql<{ json: string }[]>`
    with recursive chain as (
      select 1 as depth, issuer_id, ${link} as json from certificates where organization_id = ${organizationId} and id = ${issuerId}
      union all
      select depth + 1, issuer.issuer_id, ${link} from chain join certificates issuer on organization_id = ${organizationId} and id = chain.issuer_id where depth < 10)
    select json from chain order by depth`;
  return `[${links.map(({ json }) => json).join()}]`;
}

/** A root may be on a whole fleet. */
const MOST_SHOWN = 1_000;

/** Returns how many deployments there are, and the first as JSON. */
async function readDeployments(sql: Sql, organizationId: string, certificateId: string) {
  // Ids of the row, not of the request: some certificates are on three hosts and some on all, so Postgres would plan every call
  // for its own.
  const held = { organizationId: sql`c.organization_id`, certificateId: sql`c.id`, limit: sql.text(`${MOST_SHOWN}`) };
  const shown = await sql<{ json: string }[]>`
    select deployment::text as json from certificates c cross join lateral (${deploymentsOf(sql, held)}) as first
    where c.organization_id = ${organizationId} and c.id = ${certificateId} order by first.id`;
  const count = shown.length < MOST_SHOWN ? shown.length : await countDeployments(sql, organizationId, certificateId);
  return { count, deployments: `[${shown.map(({ json }) => json).join()}]` };
}

async function countDeployments(sql: Sql, organizationId: string, certificateId: string) {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from assignments where organization_id = ${organizationId} and certificate_id = ${certificateId}`;
  return row?.count;
}
