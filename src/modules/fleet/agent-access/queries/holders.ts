import { fromHex, type Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Shown } from "../rules";
import { type AgentProof, agentProofJson, credentialFacts, isAgentProven } from "./stamps";

/**
 * The agent that holds a token or credential, and the proof that a server issued it. With a `publicKey`, only requests signed
 * with that key count.
 */
export type Holder = {
  organizationId: string;
  id: string;
  publicKey: string | null;
  credentialId: string | null;
  credentialStamp: string | null;
  proof: AgentProof;
};

/**
 * Part of a statement: the row of `agents` that holds what was shown, with the credential that it is, if it is one, and what
 * proves both.
 */
export function holderOf(sql: Sql, { kind, hash }: Shown, now: Date) {
  const at = now.toISOString();
  if (kind === "token")
    return sql`
    select organization_id, id, last_seen_at, null::text as public_key, null::uuid as credential_id, null::text as credential_stamp, ${agentProofJson(sql)} as proof
    from agents where token_hash = decode(${hash}, 'hex') and (access_ends_at is null or access_ends_at > ${at})`;
  return sql`
    select a.organization_id, a.id, a.last_seen_at, a.public_key, c.id as credential_id, encode(c.stamp, 'hex') as credential_stamp, ${agentProofJson(sql, "a")} as proof
    from agent_credentials c join agents a on a.organization_id = c.organization_id and a.id = c.agent_id
    where c.token_hash = decode(${hash}, 'hex') and c.expires_at > ${at} and (a.access_ends_at is null or a.access_ends_at > ${at}) and a.public_key is not null`;
}

/** The columns of a Holder. */
export const holderColumns = (sql: Sql) =>
  sql`organization_id as "organizationId", id, public_key as "publicKey", credential_id as "credentialId", credential_stamp as "credentialStamp", proof`;

export async function findHolder(sql: Sql, shown: Shown, now: Date) {
  const [holder] = await sql<Holder[]>`select ${holderColumns(sql)} from (${holderOf(sql, shown, now)}) as holder`;
  return holder;
}

/** True where a server gave the agent what it shows. */
export function isHolderProven(stamps: Stamps, { organizationId, id: agentId, credentialId, credentialStamp, proof }: Holder, { hash: tokenHash }: Shown) {
  const isGiven = credentialId === null || stamps.hold(fromHex(credentialStamp), credentialFacts({ organizationId, agentId, id: credentialId, tokenHash }));
  return isGiven && isAgentProven(stamps, proof);
}

/** The agent whose key this is, until that ends. */
export async function findKeyHolder(sql: Sql, publicKey: string, now: Date) {
  const [holder] = await sql<{ organizationId: string; id: string; proof: AgentProof }[]>`
    select organization_id as "organizationId", id, ${agentProofJson(sql)} as proof from agents
    where public_key = ${publicKey} and (access_ends_at is null or access_ends_at > ${now.toISOString()})`;
  return holder;
}

/** Notes, once a minute, that a credential of the agent was shown without its key. */
export async function noteMisuse(sql: Sql, { organizationId, id }: { organizationId: string; id: string }, now: Date) {
  const at = now.toISOString();
  await sql`
    update agents set credential_misused_at = ${at}
    where organization_id = ${organizationId} and id = ${id} and (credential_misused_at is null or credential_misused_at < ${at}::timestamptz - interval '1 minute')`;
}
