import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import type { Resource } from "#db/outcome";
import {
  type AgentProof,
  agentFacts,
  agentFactsJson,
  agentProofJson,
  isAgentProven,
  type JoinTokenFacts,
  joinTokenFactsJson,
  stampJoinToken,
} from "#modules/fleet/agent-access/queries/stamps";
import { audit, type Scope } from "#modules/people/audit/queries";
import { joinTokenJson } from "./join-tokens";

/** How long the new way in is open. */
const OPEN = "24 hours";

type Replacing = { overlapSeconds: number; tokenHash: string };
type Replaced = Resource & { id: string; agent: AgentProof["facts"]; token: JoinTokenFacts };

/**
 * Ends an agent's token, key and credentials when it joins with the new token or the overlap is over; at once where no server
 * issued them. Returns that token, which works once.
 */
export const replaceCredentials = (pool: Pool, stamps: Stamps, scope: Scope, agentId: string, { overlapSeconds, tokenHash }: Replacing, now: Date) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    const [agent] = await tx<{ proof: AgentProof }[]>`
      select ${agentProofJson(tx)} as proof from agents where organization_id = ${organizationId} and id = ${agentId} for update`;
    if (!agent) return "not found" as const;
    const isProven = isAgentProven(stamps, agent.proof);
    const replaced = await openWay(tx, scope, agentId, { overlapSeconds: isProven ? overlapSeconds : 0, tokenHash }, now);
    if (isProven)
      await tx`update agents set stamp = ${stamps.of(agentFacts(replaced.agent))}::bytea where organization_id = ${organizationId} and id = ${agentId}`;
    await stampJoinToken(tx, stamps, replaced.token);
    return replaced;
  });

async function openWay(tx: Sql, scope: Scope, agentId: string, { overlapSeconds, tokenHash }: Replacing, now: Date) {
  const at = now.toISOString();
  const ending = tx`${at}::timestamptz + ${`${overlapSeconds} seconds`}::interval`;
  const [row] = await tx<Replaced[]>`
    with agent as (
      update agents set access_ends_at = least(access_ends_at, ${ending}), version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${agentId} returning *),
    cut as (
      update agent_credentials c set expires_at = least(c.expires_at, agent.access_ends_at)
      from agent where c.organization_id = agent.organization_id and c.agent_id = agent.id),
    token as (
      insert into join_tokens (organization_id, id, labels, max_uses, agent_id, token_hash, created_by, expires_at)
      select organization_id, new_id(), '{}', 1, id, decode(${tokenHash}, 'hex'), ${JSON.stringify(scope.actor)}::jsonb, ${at}::timestamptz + ${OPEN}::interval from agent
      on conflict (organization_id, agent_id) do update set labels = '{}', max_uses = 1, token_hash = excluded.token_hash, created_by = excluded.created_by,
        expires_at = excluded.expires_at, uses = 0, version = join_tokens.version + 1
      returning *),
    audited as (${audit(
      tx,
      scope,
      "agent.credentials-ended",
      tx`
      select agent.id, jsonb_build_object('joinTokenId', token.id, 'accessEndsAt', iso(access_ends_at)) from agent, token`,
    )})
    select id, version, ${joinTokenJson(tx)} as json, ${joinTokenFactsJson(tx)} as token, (select ${agentFactsJson(tx, "agent")} from agent) as agent from token`;
  if (!row) throw new Error("an agent is gone while its row is locked");
  return row;
}
