import type { Sql } from "#db/connect";
import type { Resource } from "#db/outcome";
import { joinTokenJson } from "#modules/fleet/join-tokens/queries";
import { audit, type Scope } from "#modules/people/audit/queries";

/** How long the new way in is open. */
const OPEN = "24 hours";

/**
 * Ends all that an agent has, its token, key and credentials, when the overlap is over or the host joins with the new token, whichever comes
 * first. Returns that token: good for one use and one agent, it takes the place of an earlier one. `not found` where there is no such agent.
 */
export async function replaceCredentials(
  sql: Sql,
  scope: Scope,
  agentId: string,
  { overlapSeconds, tokenHash }: { overlapSeconds: number; tokenHash: string },
  now: Date,
) {
  const at = now.toISOString();
  const ending = sql`${at}::timestamptz + ${`${overlapSeconds} seconds`}::interval`;
  const [row] = await sql<(Resource & { id: string })[]>`
    with agent as (
      update agents set access_ends_at = least(access_ends_at, ${ending}), version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${agentId} returning *),
    cut as (
      update agent_credentials c set expires_at = least(c.expires_at, agent.access_ends_at)
      from agent where c.organization_id = agent.organization_id and c.agent_id = agent.id),
    token as (
      insert into join_tokens (organization_id, id, labels, max_uses, agent_id, token_hash, created_by, expires_at)
      select organization_id, new_id(), '{}', 1, id, decode(${tokenHash}, 'hex'), ${JSON.stringify(scope.actor)}::jsonb, ${at}::timestamptz + ${OPEN}::interval from agent
      on conflict (organization_id, agent_id) do update set token_hash = excluded.token_hash, created_by = excluded.created_by, expires_at = excluded.expires_at,
        uses = 0, version = join_tokens.version + 1
      returning *),
    audited as (${audit(
      sql,
      scope,
      "agent.credentials-ended",
      sql`
      select agent.id, jsonb_build_object('joinTokenId', token.id, 'accessEndsAt', iso(access_ends_at)) from agent, token`,
    )})
    select id, version, ${joinTokenJson(sql)} as json from token`;
  return row ?? "not found";
}
