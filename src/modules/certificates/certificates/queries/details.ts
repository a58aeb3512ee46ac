import type { Sql } from "#db/connect";
import { certificateJson, isMember, joinFacts, type OfFacts, statusOf, withPem } from "./certificates";
import { deploymentsOf } from "./deployments";

/** A reader: a user, who must be a member of the organization, or an API token, which must be of the organization. */
type Reader = { userId: string } | { organizationId: string };

const mayRead = (sql: Sql, organizationId: string, reader: Reader) =>
  "userId" in reader ? isMember(sql, sql`${organizationId}`, sql`${reader.userId}`) : sql`${organizationId}::uuid = ${reader.organizationId}`;

/** A root may be on a whole fleet. */
const MOST_DEPLOYMENTS = 1_000;

/** Returns a certificate with its chain and deployments as JSON, for who may read it; undefined for anybody else. */
export async function findDetailsForMember(sql: Sql, organizationId: string, id: string, reader: Reader, now: Date) {
  const daysRemaining = sql`greatest(0, floor(extract(epoch from not_after - ${now.toISOString()}::timestamptz) / 86400)::int)`;
  const link = sql`json_build_object('id', id, 'commonName', common_name, 'subject', subject, 'fingerprintSha256', fingerprint_sha256,
    'notAfter', iso(not_after), 'isCa', is_ca, 'selfSigned', self_signed, 'status', ${statusOf(sql, now)}, 'pem', pem)::text`;
  // Ids of the row, not of the request: some certificates are on three hosts and some on all, so Postgres would plan every call
  // for its own.
  const held = { organizationId: sql`c.organization_id`, certificateId: sql`c.id`, limit: sql.text(`${MOST_DEPLOYMENTS}`) };
  const [row] = await sql<(OfFacts & { chain: string; deployments: string; shown: number })[]>`
    -- the certificate, and those above it as JSON: rows that are narrow, because recursion copies them
    with recursive chain as (
      select 0 as depth, issuer_id, null as json from certificates where organization_id = ${organizationId} and id = ${id}
      union all
      select depth + 1, issuer.issuer_id, ${link} from chain join certificates issuer on organization_id = ${organizationId} and id = chain.issuer_id where depth < 10)
    select ${certificateJson(sql, now, sql`${withPem(sql)}, 'daysRemaining', ${daysRemaining}`)}, shown, deployments,
      (select coalesce(string_agg(json, ',' order by depth), '') from chain) as chain
    from certificates c cross join lateral (
      select count(*)::int as shown, coalesce(json_agg(deployment order by id), '[]')::text as deployments from (${deploymentsOf(sql, held)}) as first) as deployed
    where organization_id = ${organizationId} and id = ${id} and ${mayRead(sql, organizationId, reader)}`;
  if (!row) return;
  const count = row.shown < MOST_DEPLOYMENTS ? row.shown : await countDeployments(sql, organizationId, id);
  return `${joinFacts(row).slice(0, -1)}, "chain": [${row.chain}], "deploymentCount": ${count}, "deployments": ${row.deployments}}`;
}

async function countDeployments(sql: Sql, organizationId: string, certificateId: string) {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from assignments where organization_id = ${organizationId} and certificate_id = ${certificateId}`;
  return row?.count;
}
