import { type Facts, fromHex, type Stamp, type Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";

type AgentFacts = { organizationId: string; id: string; tokenHash: string | null; publicKey: string | null; accessEndsAt: string | null };
type CredentialFacts = { organizationId: string; agentId: string; id: string; tokenHash: string };
export type JoinTokenFacts = {
  organizationId: string;
  id: string;
  agentId: string | null;
  labels: Record<string, string>;
  maxUses: number;
  tokenHash: string;
  expiresAt: string;
};

/** The facts of an agent that its stamp covers: which token or key lets it in, and until when. */
export const agentFacts = ({ organizationId, id, tokenHash, publicKey, accessEndsAt }: AgentFacts): Facts => [
  "agent",
  organizationId,
  id,
  tokenHash,
  publicKey,
  accessEndsAt,
];

/** The facts of the agent `row`. */
export const agentFactsJson = (sql: Sql, row = "agents") => {
  const a = sql.text(row);
  return sql`json_build_object('organizationId', ${a}.organization_id, 'id', ${a}.id, 'tokenHash', encode(${a}.token_hash, 'hex'), 'publicKey', ${a}.public_key,
    'accessEndsAt', iso(${a}.access_ends_at))`;
};

/**
 * The facts of a credential that its stamp covers. Its end is none of them: it counts with the key of its agent alone, and that
 * may have another at any time.
 */
export const credentialFacts = ({ organizationId, agentId, id, tokenHash }: CredentialFacts): Facts => [
  "agent-credential",
  organizationId,
  agentId,
  id,
  tokenHash,
];
export const credentialFactsJson = (sql: Sql) =>
  sql`json_build_object('organizationId', organization_id, 'agentId', agent_id, 'id', id, 'tokenHash', encode(token_hash, 'hex'))`;

/** The facts of a join token that its stamp covers: whom it lets in, with which labels, how often and until when. */
export const joinTokenFacts = (facts: JoinTokenFacts): Facts => ["join-token", facts];
export const joinTokenFactsJson = (sql: Sql) => sql`json_build_object('organizationId', organization_id, 'id', id, 'agentId', agent_id, 'labels', labels,
  'maxUses', max_uses, 'tokenHash', encode(token_hash, 'hex'), 'expiresAt', iso(expires_at))`;

/** The facts that prove the agent `row`, as JSON. */
export const agentProofJson = (sql: Sql, row?: string) => {
  const a = sql.text(row ?? "agents");
  return sql`json_build_object('facts', ${agentFactsJson(sql, row)}, 'stamp', encode(${a}.stamp, 'hex'), 'isUnproven', ${a}.held_since is not null)`;
};
export type AgentProof = { facts: AgentFacts; stamp: string | null; isUnproven: boolean };

/** True where a server gave the agent what lets it in. */
export const isAgentProven = (stamps: Stamps, { facts, stamp }: Pick<AgentProof, "facts" | "stamp">) => stamps.hold(fromHex(stamp), agentFacts(facts));

/** The stamp of an agent that has this key from now on, and nothing else. */
export const stampOfKey = (stamps: Stamps, organizationId: string, id: string, publicKey: string) =>
  stamps.of(agentFacts({ organizationId, id, tokenHash: null, publicKey, accessEndsAt: null }));

/** Stamps a join token as this transaction has written it. */
export async function stampJoinToken(tx: Sql, stamps: Stamps, facts: JoinTokenFacts) {
  await tx`update join_tokens set stamp = ${stamps.of(joinTokenFacts(facts))}::bytea where organization_id = ${facts.organizationId} and id = ${facts.id}`;
}

export const isJoinTokenProven = (stamps: Stamps, stamp: Stamp, facts: JoinTokenFacts) => stamps.hold(stamp, joinTokenFacts(facts));
