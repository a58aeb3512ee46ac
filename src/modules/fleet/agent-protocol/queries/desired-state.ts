import type { Stamp } from "#crypto/stamps";
import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { type Holder, holderColumns, holderOf } from "#modules/fleet/agent-access/queries/holders";
import type { Shown } from "#modules/fleet/agent-access/rules";
import { pairs } from "#modules/fleet/assignments/queries/columns";
import { currentKeyOf } from "#modules/fleet/signing-keys/queries";
import { type AskedKey, askedJson, askedKeys, changing } from "#modules/issuance/requests/queries/asked-keys";
import { audit, type Scope } from "#modules/people/audit/queries";

/** The agent that asks, and how: with a credential each request has a nonce. */
export type Asking = Pick<Holder, "organizationId" | "id" | "publicKey" | "credentialId"> & { nonce: string | undefined };
export type PollingAgent = Holder & { tag: string; signingKey: string | null };

const MAX_CHAIN = 10;

/**
 * The beginning of a statement that reads an agent's desired state: assignments (`held`), issuers (`chain`) and a `tag` that
 * changes with the response. Computed at each read, so no change is missed.
 */
const desiredStateCte = (sql: Sql, agent: Fragment, asked = changing(sql)) => sql`
    -- the agent
    with recursive agent as (${agent}),
    -- its assignments, with the state of the certificate of each
    held as (
      select a.*, c.version as certificate_version, c.status, c.issuer_id from agent
      join assignments a on a.organization_id = agent.organization_id and a.agent_id = agent.id
      join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id),
    -- one row for each issuer above such a certificate, nearest at depth 1
    link as (
      select distinct organization_id, certificate_id as leaf, issuer_id as id, 1 as depth from held where issuer_id is not null
      union all
      select c.organization_id, leaf, c.issuer_id, depth + 1 from link join certificates c on c.organization_id = link.organization_id and c.id = link.id
      where c.issuer_id is not null and depth < ${MAX_CHAIN}),
    -- the issuers of each certificate, nearest first
    chain as (select leaf, array_agg(id order by depth) as issuers from link group by leaf),
    -- the keys that it is to make
    ${askedKeys(sql, asked)},
    -- the tag: a hash of every id, version and issuer of what is enabled or removing, and of the keys
    state as (
      select encode(sha256(convert_to(coalesce(string_agg(concat_ws(' ', held.id, version, certificate_version, issuers), ',' order by held.id)
        filter (where enabled or removing_since is not null), '') || coalesce((select string_agg(change, ',' order by id) from asked), ''), 'UTF8')), 'hex') as tag
      from held left join chain on leaf = certificate_id)`;

/**
 * Returns the agent of a token or credential, its state's tag and the key that signs it. Updates last_seen_at after five
 * minutes, unless the row is locked: a poll waits for no lock.
 */
export async function findPollingAgent(sql: Sql, shown: Shown, now: Date) {
  const at = now.toISOString();
  const holder = sql`
    select *, coalesce(last_seen_at < ${at}::timestamptz - interval '5 minutes', true) as is_due from (${holderOf(sql, shown, now)}) as holder`;
  const [agent] = await sql<PollingAgent[]>`
    ${desiredStateCte(sql, holder)},
    -- the agent, when last_seen_at is old and its row is not locked
    due as (
      select a.organization_id, a.id from agent join agents a on a.organization_id = agent.organization_id and a.id = agent.id
      where is_due for no key update of a skip locked),
    -- updates last_seen_at
    seen as (update agents set last_seen_at = ${at} from due where agents.organization_id = due.organization_id and agents.id = due.id)
    select ${holderColumns(sql)}, tag, ${currentKeyOf(sql)} as "signingKey" from agent, state`;
  return agent;
}

/** An assignment of an agent as the database has it, with its certificate; `json` is what the agent gets of it, but for the private key. */
export type Item = {
  id: string;
  fingerprint: string;
  policyId: string | null;
  enabled: boolean;
  isRemoving: boolean;
  isUnproven: boolean;
  status: string;
  isRevoked: boolean;
  json: string;
  sealedKey: Uint8Array | null;
  stamp: Stamp;
  removalStamp: Stamp;
  certificateStamp: Stamp;
  statusStamp: Stamp;
};

type Snapshot = { tag: string; isFresh: boolean; items: Item[]; keys: AskedKey[] };

/**
 * Returns the agent's assignments with the tag of the same snapshot; undefined when the agent was deleted. Writes an audit
 * event for each private key, unless `isSent` is false: HEAD has no body.
 */
export async function readAssignments(sql: Sql, asking: Asking, requestId: string | null, isSent: boolean): Promise<Snapshot | undefined> {
  const { organizationId, id } = asking;
  const scope: Scope = { organizationId, actor: { type: "agent", id }, requestId };
  const releasedKeys = sql`
    select certificate_id, jsonb_build_object('agentId', ${id}::text, 'assignmentId', id) from item where ${isSent} and "sealedKey" is not null and exists (select from fresh)`;
  const agent = sql`select organization_id, id from agents where organization_id = ${organizationId} and id = ${id}`;
  const rows = await sql<(Omit<Snapshot, "items"> & (Item | { id: null }))[]>`
    ${desiredStateCte(sql, agent, sql`${changing(sql)}, ${askedJson(sql)}`)},
    fresh as (${takeNonce(sql, asking)}),
    -- one row for each assignment, with what proves it
    item as (
      select held.id, held.policy_id as "policyId", enabled, removing_since is not null as "isRemoving", held_since is not null as "isUnproven", held.status::text as status, c.revoked_at is not null as "isRevoked", certificate_id,
        fingerprint_sha256 as fingerprint, case when include_private_key and enabled and held.status = 'active' then sealed_private_key end as "sealedKey",
        held.stamp, removal_stamp as "removalStamp", c.stamp as "certificateStamp", status_stamp as "statusStamp",
        json_build_object('id', held.id, 'version', held.version, ${pairs(sql, "held", ["enabled"])}, 'keyOnHost', key_on_host, 'commonName', common_name, 'fingerprintSha256', fingerprint_sha256, 'notAfter', iso(not_after), 'pem', c.pem, 'chain', (
            select coalesce(json_agg(issuer.pem order by place), '[]') from chain, unnest(issuers) with ordinality as step (issuer, place)
            join certificates issuer on issuer.organization_id = held.organization_id and issuer.id = step.issuer where leaf = certificate_id))::text as json
      from held join certificates c on c.organization_id = held.organization_id and c.id = certificate_id),
    -- an audit event for each private key that is sent
    released as (${audit(sql, scope, "certificate.private-key-released", releasedKeys)})
    select tag, exists (select from fresh) as "isFresh", item.id, "policyId", enabled, "isRemoving", "isUnproven", status, "isRevoked", json, fingerprint, "sealedKey", item.stamp, "removalStamp",
      "certificateStamp", "statusStamp",
      case when lag(item.id) over (order by item.id) is null then (select coalesce(json_agg(json order by asked.id), '[]') from asked) end as keys
    from agent cross join state left join item on true order by item.id`;
  const [first] = rows;
  return first && { tag: first.tag, isFresh: first.isFresh, keys: first.keys, items: rows.filter((row) => row.id !== null) };
}

/** The news of a poll: assignments that are held back from now on, each with the reason, and those that no longer are. */
export type UnprovenNews = { held: { id: string; why: string }[]; released: string[] };

/** Notes which assignments are held back from their agent, and which no longer are, each with an audit event. */
export async function noteUnproven(sql: Sql, scope: Scope, agentId: string, { held, released }: UnprovenNews) {
  const isOf = sql`a.organization_id = ${scope.organizationId} and a.agent_id = ${agentId}`;
  await sql`
    with holding as (
      update assignments a set held_since = now() from jsonb_to_recordset(${JSON.stringify(held)}::jsonb) as given (id uuid, why text)
      where ${isOf} and a.id = given.id and held_since is null returning a.id, why),
    released as (
      update assignments a set held_since = null where ${isOf} and a.id = any(${arrayOf(released)}::uuid[]) and held_since is not null returning a.id),
    audited as (${audit(sql, scope, "assignment.held", sql`select id, jsonb_build_object('agentId', ${agentId}::text, 'reason', why) from holding`)}),
    also_audited as (${audit(sql, scope, "assignment.released", sql`select id, jsonb_build_object('agentId', ${agentId}::text) from released`)})
    select from holding`;
}

/** Part of a statement: one row, unless the credential was answered with this nonce, or a later one, before: on whatever server. */
const takeNonce = (sql: Sql, { organizationId, id, credentialId, nonce }: Asking) =>
  credentialId === null
    ? sql`select`
    : sql`
      update agent_credentials set last_nonce = ${nonce ?? null}::uuid
      where organization_id = ${organizationId} and agent_id = ${id} and id = ${credentialId} and (last_nonce is null or last_nonce < ${nonce ?? null}::uuid)
      returning id`;
