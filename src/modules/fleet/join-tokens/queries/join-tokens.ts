import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import type { IdentifiedResource, Target } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { type JoinTokenFacts, joinTokenFactsJson, stampJoinToken } from "#modules/fleet/agent-access/queries/stamps";
import { audit, deleteAudited, type Scope } from "#modules/people/audit/queries";

/** How many that may still be used an organization may have. */
const MAX_LIVE = 100;

/** The columns that every answer shows, as json text. */
export const joinTokenJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'agentId', agent_id, 'labels', labels,
  'maxUses', max_uses, 'uses', uses, 'expiresAt', iso(expires_at), 'createdBy', created_by, 'version', version, 'createdAt', iso(created_at))::text`;

type NewJoinToken = { labels: Record<string, string>; maxUses: number; expiresAt: string; tokenHash: string };

/** Stores a token. Returns `conflict` when the organization has as many live ones as it may: the row lock of the organization decides. */
export function createJoinToken(
  sql: Pool,
  stamps: Stamps,
  scope: Scope,
  { labels, maxUses, expiresAt, tokenHash }: NewJoinToken,
  now: Date,
): Promise<IdentifiedResource | "conflict"> {
  const { organizationId, actor } = scope;
  return sql.begin(async (tx) => {
    await lockOrganization(tx, organizationId);
    const [row] = await tx<(IdentifiedResource & { facts: JoinTokenFacts })[]>`
      with created as (
        insert into join_tokens (organization_id, id, labels, max_uses, token_hash, created_by, expires_at)
        select ${organizationId}, new_id(), ${JSON.stringify(labels)}::jsonb, ${maxUses}, decode(${tokenHash}, 'hex'), ${JSON.stringify(actor)}::jsonb, ${expiresAt}
        where (select count(*) from join_tokens where organization_id = ${organizationId} and agent_id is null and uses < max_uses and expires_at > ${now.toISOString()}) < ${MAX_LIVE}
        returning *),
      audited as (${audit(tx, scope, "join-token.created", tx`select id, jsonb_build_object('labels', labels, 'maxUses', max_uses, 'expiresAt', iso(expires_at)) from created`)})
      select id, version, ${joinTokenJson(tx)} as json, ${joinTokenFactsJson(tx)} as facts from created`;
    if (!row) return "conflict";
    await stampJoinToken(tx, stamps, row.facts);
    return row;
  });
}

/** Newest first, those that are used up or ended too; one more than `limit`. */
export async function listJoinTokens(sql: Sql, organizationId: string, { limit, before }: PageBefore) {
  const rows = await sql<IdentifiedResource[]>`
    select id, ${joinTokenJson(sql)} as json from join_tokens
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findJoinToken(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<
    IdentifiedResource[]
  >`select id, version, ${joinTokenJson(sql)} as json from join_tokens where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

/** Deletes a token: no host joins with it any more. The agents that it made stay. */
export const deleteJoinToken = (sql: Sql, scope: Scope, target: Target) =>
  deleteAudited(sql, scope, target, { table: "join_tokens", action: "join-token.deleted", details: sql`jsonb_build_object('labels', labels, 'uses', uses)` });
