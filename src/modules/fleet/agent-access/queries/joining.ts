import type { Stamp, Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import { audit, type Scope } from "#modules/people/audit/queries";
import { CREDENTIAL_MS, type Joining } from "../rules";
import { type AgentProof, agentProofJson, credentialFacts, type JoinTokenFacts, joinTokenFactsJson, stampOfKey } from "./stamps";

type JoinToken = { kind: "join-token"; refusal: string | null; facts: JoinTokenFacts; stamp: Stamp };
type LongLived = { kind: "token"; proof: AgentProof };
/** The agent that a host becomes by what it shows, and the proof of that; `refusal` in words where a join token does not count any more. */
export type Entry = { organizationId: string; id: string } & (JoinToken | LongLived);
/** The access of a host that joins or renews: it is this agent until the end. */
export type Access = { organizationId: string; agentId: string; name: string; expiresAt: string };

type Host = { publicKey: string; name: string; host: object | undefined; credentialHash: string };

export function findEntry(sql: Sql, { kind, hash }: Joining, now: Date): Promise<Entry | undefined> {
  return kind === "join-token" ? findJoinToken(sql, hash, now) : findChanging(sql, hash, now);
}

export async function findJoinToken(sql: Sql, hash: string, now: Date) {
  const [row] = await sql<(Omit<JoinToken, "kind"> & { organizationId: string; id: string })[]>`
    select organization_id as "organizationId", id, ${joinTokenFactsJson(sql)} as facts, stamp, case
        when uses >= max_uses then 'This join token was used ' || uses || case uses when 1 then ' time' else ' times' end || ', as often as it may be. Ask for another.'
        when expires_at <= ${now.toISOString()} then 'This join token ended at ' || iso(expires_at) || '. Ask for another.' end as refusal
    from join_tokens where token_hash = decode(${hash}, 'hex')`;
  return row && { kind: "join-token" as const, ...row };
}

async function findChanging(sql: Sql, hash: string, now: Date) {
  const [row] = await sql<{ organizationId: string; id: string; proof: AgentProof }[]>`
    select organization_id as "organizationId", id, ${agentProofJson(sql)} as proof from agents
    where token_hash = decode(${hash}, 'hex') and (access_ends_at is null or access_ends_at > ${now.toISOString()})`;
  return row && { kind: "token" as const, ...row };
}

/**
 * Makes a host an agent, or gives the token's agent the host's key in place of its former access. Returns undefined where hosts
 * that joined meanwhile used the token up.
 */
export const joinByToken = (sql: Sql, stamps: Stamps, scope: Scope, token: JoinTokenFacts, { publicKey, name, host, credentialHash }: Host, now: Date) =>
  withNewKey(() => {
    const { organizationId, id: joinTokenId, labels, maxUses } = token;
    const at = now.toISOString();
    const agentId = token.agentId ?? Bun.randomUUIDv7();
    const key = { publicKey, stamp: stampOfKey(stamps, organizationId, agentId, publicKey) };
    return sql<Access[]>`
    -- takes one use
    with used as (
      update join_tokens set uses = uses + 1
      where organization_id = ${organizationId} and id = ${joinTokenId} and uses < ${maxUses} and expires_at > ${at} returning organization_id),
    -- a new agent, unless the token is for one
    created as (
      insert into agents (organization_id, id, name, labels, public_key, stamp, host)
      select organization_id, ${agentId}, ${name}, ${JSON.stringify(labels)}::jsonb, ${publicKey}, ${key.stamp}::bytea, ${host ? JSON.stringify(host) : null}::jsonb
      from used where ${token.agentId === null} returning *),
    ${replacement(sql, sql`select organization_id, ${agentId}::uuid as id from used where ${token.agentId !== null}`, key)},
    agent as (select * from created union all select * from replaced),
    ${issue(sql, newCredential(stamps, organizationId, agentId, credentialHash), at)},
    audited as (${audit(sql, scope, "agent.joined", sql`select id, jsonb_build_object('name', name, 'labels', labels, 'joinTokenId', ${joinTokenId}::text) from created`)}),
    audited_too as (${audit(sql, scope, "agent.credentials-replaced", sql`select id, jsonb_build_object('joinTokenId', ${joinTokenId}::text) from replaced`)})
    ${accessOf(sql)}`;
  });

/** Gives an agent a key in place of its long-lived token, which ends with that. Returns undefined where it had ended meanwhile. */
export const changeOver = (sql: Sql, stamps: Stamps, scope: Scope, agent: AgentProof["facts"], { publicKey, credentialHash }: Host, now: Date) =>
  withNewKey(() => {
    const { organizationId, id, tokenHash } = agent;
    const key = { publicKey, stamp: stampOfKey(stamps, organizationId, id, publicKey) };
    return sql<Access[]>`
    with held as (
      select organization_id, id from agents
      where organization_id = ${organizationId} and id = ${id} and token_hash = decode(${tokenHash}, 'hex') and (access_ends_at is null or access_ends_at > ${now.toISOString()}) for update),
    ${replacement(sql, sql`select * from held`, key)},
    agent as (select * from replaced),
    ${issue(sql, newCredential(stamps, organizationId, id, credentialHash), now.toISOString())},
    audited as (${audit(sql, scope, "agent.credentials-replaced", sql`select id, '{}'::jsonb from replaced`)})
    ${accessOf(sql)}`;
  });

const UNIQUE_VIOLATION = "23505";

/** The first row of a statement that gives a key; `known key` where an agent has it already, and nothing was done. */
async function withNewKey(join: () => PromiseLike<Access[]>) {
  try {
    const [access] = await join();
    return access;
  } catch (error) {
    if ((error as { code?: string }).code === UNIQUE_VIOLATION) return "known key";
    throw error;
  }
}

/** Live credentials that an agent keeps beside a new one: several processes may renew at once, and an answer may be lost. */
const MAX_KEPT = 8;

/** A new credential for the agent of this key. The earlier ones go on until they end by themselves; those that have ended are deleted. */
export async function renewCredential(
  sql: Sql,
  stamps: Stamps,
  scope: Scope,
  agentId: string,
  { publicKey, credentialHash }: Pick<Host, "publicKey" | "credentialHash">,
  now: Date,
) {
  const at = now.toISOString();
  const [access] = await sql<Access[]>`
    with agent as (
      select * from agents
      where organization_id = ${scope.organizationId} and id = ${agentId} and public_key = ${publicKey} and (access_ends_at is null or access_ends_at > ${at})),
    kept as (
      select c.organization_id, c.agent_id, c.id from agent join agent_credentials c on c.organization_id = agent.organization_id and c.agent_id = agent.id
      where c.expires_at > ${at} order by c.id desc limit ${MAX_KEPT}),
    ended as (
      delete from agent_credentials c using agent
      where c.organization_id = agent.organization_id and c.agent_id = agent.id and not exists (select from kept where kept.id = c.id)),
    ${issue(sql, newCredential(stamps, scope.organizationId, agentId, credentialHash), at)},
    audited as (${audit(sql, scope, "agent.credential-renewed", sql`select agent.id, jsonb_build_object('expiresAt', iso(issued.expires_at)) from agent, issued`)})
    ${accessOf(sql)}`;
  return access;
}

/** Parts of a statement that give the agents of `agents` (organization_id, id) this key, and end all that they had. */
const replacement = (sql: Sql, agents: Fragment, { publicKey, stamp }: { publicKey: string; stamp: Buffer }) => sql`
    replaced as (
      update agents set public_key = ${publicKey}, token_hash = null, access_ends_at = null, credential_misused_at = null, stamp = ${stamp}::bytea, held_since = null,
        version = version + 1, updated_at = now()
      from (${agents}) as given where agents.organization_id = given.organization_id and agents.id = given.id returning agents.*),
    ended as (delete from agent_credentials c using replaced where c.organization_id = replaced.organization_id and c.agent_id = replaced.id)`;

function newCredential(stamps: Stamps, organizationId: string, agentId: string, tokenHash: string) {
  const id = Bun.randomUUIDv7();
  return { id, tokenHash, stamp: stamps.of(credentialFacts({ organizationId, agentId, id, tokenHash })) };
}

/** Part of a statement: the credential of `agent`. */
const issue = (sql: Sql, { id, tokenHash, stamp }: ReturnType<typeof newCredential>, at: string) => sql`
    issued as (
      insert into agent_credentials (organization_id, agent_id, id, token_hash, stamp, expires_at)
      select organization_id, id, ${id}, decode(${tokenHash}, 'hex'), ${stamp}::bytea, least(${at}::timestamptz + ${`${CREDENTIAL_MS} milliseconds`}::interval, access_ends_at)
      from agent returning *)`;

const accessOf = (sql: Sql) => sql`
    select agent.organization_id as "organizationId", agent.id as "agentId", name, iso(issued.expires_at) as "expiresAt" from agent, issued`;
