import type { Fragment, Sql } from "#db/connect";
import { audit, type Scope } from "#modules/people/audit/queries";
import { CREDENTIAL_MS, type Joining } from "../rules";

/** Who a host joins as, by what it shows; `refusal` in words where that is no good any more. */
export type Entry = { kind: Joining["kind"]; organizationId: string; id: string; refusal: string | null };
/** What a host gets when it joins, or renews: it is this agent until then. */
export type Access = { organizationId: string; agentId: string; name: string; expiresAt: string };

type Host = { publicKey: string; name: string; host: object | undefined; credentialHash: string };

export function findEntry(sql: Sql, { kind, hash }: Joining, now: Date): Promise<Entry | undefined> {
  return kind === "join-token" ? findJoinToken(sql, hash, now) : findChanging(sql, hash, now);
}

async function findJoinToken(sql: Sql, hash: string, now: Date): Promise<Entry | undefined> {
  const [row] = await sql<Omit<Entry, "kind">[]>`
    select organization_id as "organizationId", id, case
        when uses >= max_uses then 'This join token was used ' || uses || case uses when 1 then ' time' else ' times' end || ', as often as it may be. Ask for another.'
        when expires_at <= ${now.toISOString()} then 'This join token ended at ' || iso(expires_at) || '. Ask for another.' end as refusal
    from join_tokens where token_hash = decode(${hash}, 'hex')`;
  return row && { kind: "join-token", ...row };
}

async function findChanging(sql: Sql, hash: string, now: Date): Promise<Entry | undefined> {
  const [row] = await sql<Omit<Entry, "kind">[]>`
    select organization_id as "organizationId", id, null as refusal from agents
    where token_hash = decode(${hash}, 'hex') and (access_ends_at is null or access_ends_at > ${now.toISOString()})`;
  return row && { kind: "token", ...row };
}

/**
 * Makes a host an agent, or gives the agent that the token is for the host's key in place of all that it had. Returns undefined where hosts
 * that joined meanwhile left no use of the token: each waits for the lock of its row.
 */
export const joinByToken = (sql: Sql, scope: Scope, joinTokenId: string, { publicKey, name, host, credentialHash }: Host, now: Date) =>
  withNewKey(() => {
    const at = now.toISOString();
    return sql<Access[]>`
    -- takes one use
    with used as (
      update join_tokens set uses = uses + 1
      where organization_id = ${scope.organizationId} and id = ${joinTokenId} and uses < max_uses and expires_at > ${at} returning *),
    -- a new agent, unless the token is for one
    created as (
      insert into agents (organization_id, id, name, labels, public_key, host)
      select organization_id, ${Bun.randomUUIDv7()}, ${name}, labels, ${publicKey}, ${host ? JSON.stringify(host) : null}::jsonb from used where agent_id is null returning *),
    ${replacement(sql, sql`select organization_id, agent_id as id from used`, publicKey)},
    agent as (select * from created union all select * from replaced),
    ${issue(sql, credentialHash, at)},
    audited as (${audit(sql, scope, "agent.joined", sql`select id, jsonb_build_object('name', name, 'labels', labels, 'joinTokenId', ${joinTokenId}::text) from created`)}),
    audited_too as (${audit(sql, scope, "agent.credentials-replaced", sql`select id, jsonb_build_object('joinTokenId', ${joinTokenId}::text) from replaced`)})
    ${accessOf(sql)}`;
  });

/** Gives an agent a key in place of its long-lived token, which ends with that. Returns undefined where it had ended meanwhile. */
export const changeOver = (sql: Sql, scope: Scope, tokenHash: string, { publicKey, credentialHash }: Host, now: Date) =>
  withNewKey(
    () => sql<Access[]>`
    with held as (
      select organization_id, id from agents where token_hash = decode(${tokenHash}, 'hex') and (access_ends_at is null or access_ends_at > ${now.toISOString()}) for update),
    ${replacement(sql, sql`select * from held`, publicKey)},
    agent as (select * from replaced),
    ${issue(sql, credentialHash, now.toISOString())},
    audited as (${audit(sql, scope, "agent.credentials-replaced", sql`select id, '{}'::jsonb from replaced`)})
    ${accessOf(sql)}`,
  );

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
    ${issue(sql, credentialHash, at)},
    audited as (${audit(sql, scope, "agent.credential-renewed", sql`select agent.id, jsonb_build_object('expiresAt', iso(issued.expires_at)) from agent, issued`)})
    ${accessOf(sql)}`;
  return access;
}

/** Parts of a statement that give the agents of `agents` (organization_id, id) this key, and end all that they had. */
const replacement = (sql: Sql, agents: Fragment, publicKey: string) => sql`
    replaced as (
      update agents set public_key = ${publicKey}, token_hash = null, access_ends_at = null, credential_misused_at = null, version = version + 1, updated_at = now()
      from (${agents}) as given where agents.organization_id = given.organization_id and agents.id = given.id returning agents.*),
    ended as (delete from agent_credentials c using replaced where c.organization_id = replaced.organization_id and c.agent_id = replaced.id)`;

/** Part of a statement: the credential of `agent`. */
const issue = (sql: Sql, credentialHash: string, at: string) => sql`
    issued as (
      insert into agent_credentials (organization_id, agent_id, id, token_hash, expires_at)
      select organization_id, id, new_id(), decode(${credentialHash}, 'hex'), least(${at}::timestamptz + ${`${CREDENTIAL_MS} milliseconds`}::interval, access_ends_at)
      from agent returning *)`;

const accessOf = (sql: Sql) => sql`
    select agent.organization_id as "organizationId", agent.id as "agentId", name, iso(issued.expires_at) as "expiresAt" from agent, issued`;
