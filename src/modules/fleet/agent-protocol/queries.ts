import type { Keyring } from "#crypto/keyring";
import type { Fragment, Sql } from "#db/connect";
import { keyContext } from "#modules/certificates/certificates/rules/key-context";
import { type Holder, holderColumns, holderOf } from "#modules/fleet/agent-access/queries/holders";
import type { Shown } from "#modules/fleet/agent-access/rules";
import { pairs } from "#modules/fleet/assignments/queries/columns";
import { auditAssignments } from "#modules/fleet/assignments/queries/events";
import { currentKeyOf } from "#modules/fleet/signing-keys/queries";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { AgentReport } from "./schema";

/** The agent that asks, and how: with a credential each request has a nonce. */
export type Asking = Holder & { nonce: string | undefined };
export type PollingAgent = Holder & { tag: string; signingKey: string | null };
type Item = { json: string | null; isDesired: boolean; fingerprint: string; sealedKey: Uint8Array | null };

const MAX_CHAIN = 10;

/**
 * The beginning of a statement that reads the desired state of the one `agent`: its enabled assignments and those that it is to remove
 * (`held`), the issuers of their certificates (`chain`), and a `tag` that changes whenever the response does. All of it is computed at each read, so a change cannot be
 * missed.
 */
const desiredStateCte = (sql: Sql, agent: Fragment) => sql`
    -- the agent
    with recursive agent as (${agent}),
    -- its enabled assignments and those that are removing, with the state of the certificate of each
    held as (
      select a.*, c.version as certificate_version, c.status, c.issuer_id from agent
      join assignments a on a.organization_id = agent.organization_id and a.agent_id = agent.id
      join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id
      where a.enabled or a.removing_since is not null),
    -- one row for each issuer above such a certificate, nearest at depth 1
    link as (
      select distinct organization_id, certificate_id as leaf, issuer_id as id, 1 as depth from held where issuer_id is not null
      union all
      select c.organization_id, leaf, c.issuer_id, depth + 1 from link join certificates c on c.organization_id = link.organization_id and c.id = link.id
      where c.issuer_id is not null and depth < ${MAX_CHAIN}),
    -- the issuers of each certificate, nearest first
    chain as (select leaf, array_agg(id order by depth) as issuers from link group by leaf),
    -- the tag: a hash of every id, version and issuer
    state as (
      select encode(sha256(convert_to(coalesce(string_agg(concat_ws(' ', held.id, version, certificate_version, issuers), ',' order by held.id), ''), 'UTF8')), 'hex') as tag
      from held left join chain on leaf = certificate_id)`;

/**
 * Returns the agent that holds what was shown, the tag of its desired state, and the public key that signs it. Updates last_seen_at when it is five minutes old. While another
 * transaction locks the agent's row, the next poll does that: a poll waits for no lock.
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

/**
 * Returns what must be installed on the agent, its enabled assignments of active certificates, and what it is asked to remove, with the tag of the same
 * snapshot. Returns undefined when the agent was deleted meanwhile: an empty list would tell it to remove everything. Returns `played back` for a request that
 * was answered before. The same statement writes an audit
 * event for each private key, unless `isSent` is false: HEAD has no body.
 */
export async function findDesiredState(sql: Sql, keyring: Keyring, asking: Asking, requestId: string | null, isSent = true) {
  const { organizationId, id } = asking;
  const scope: Scope = { organizationId, actor: { type: "agent", id }, requestId };
  const releasedKeys = sql`
    select certificate_id, jsonb_build_object('agentId', ${id}::text, 'assignmentId', id) from item where ${isSent} and "sealedKey" is not null and exists (select from fresh)`;
  const rows = await sql<({ tag: string; keep: string; isFresh: boolean } & Item)[]>`
    ${desiredStateCte(sql, sql`select organization_id, id from agents where organization_id = ${organizationId} and id = ${id}`)},
    fresh as (${takeNonce(sql, asking)}),
    -- ids of assignments whose certificate is not active, but stays installed
    kept as (
      select coalesce(json_agg(id order by id) filter (where status <> 'active' and config->'removeOnRevoke' = 'false'), '[]')::text as keep from held where enabled),
    -- what to install, each assignment of an active certificate, and what to remove: one row of json for each
    item as (
      select held.id, enabled as "isDesired", certificate_id, fingerprint_sha256 as fingerprint, case when include_private_key and enabled then sealed_private_key end as "sealedKey",
        json_build_object('id', held.id, 'version', held.version, ${pairs(sql, "held", ["enabled"])}, 'commonName', common_name, 'fingerprintSha256', fingerprint_sha256, 'notAfter', iso(not_after), 'pem', c.pem, 'chain', (
            select coalesce(json_agg(issuer.pem order by place), '[]') from chain, unnest(issuers) with ordinality as step (issuer, place)
            join certificates issuer on issuer.organization_id = held.organization_id and issuer.id = step.issuer where leaf = certificate_id))::text as json
      from held join certificates c on c.organization_id = held.organization_id and c.id = certificate_id
      where held.status = 'active' or not enabled),
    -- an audit event for each private key that is sent
    released as (${audit(sql, scope, "certificate.private-key-released", releasedKeys)})
    select tag, keep, exists (select from fresh) as "isFresh", "isDesired", json, fingerprint, "sealedKey" from agent cross join state cross join kept left join item on true order by item.id`;
  const [state] = rows;
  if (!state) return;
  if (!state.isFresh) return "played back";
  const { items = [], remove = [] } = Object.groupBy(
    rows.filter(({ json }) => json !== null),
    ({ isDesired }) => (isDesired ? "items" : "remove"),
  );
  const write = ({ json, fingerprint, sealedKey }: Item) => {
    const key = sealedKey && `${keyring.unseal(sealedKey, keyContext(organizationId, fingerprint)).trimEnd()}\n`;
    return `${json?.slice(0, -1)}, "privateKeyPem": ${JSON.stringify(key)}}`;
  };
  return { tag: state.tag, json: `{"items":[${items.map(write)}],"keep":${state.keep},"remove":[${remove.map(write)}]}` };
}

/** Part of a statement: one row, unless the credential was answered with this nonce, or a later one, before: on whatever server. */
const takeNonce = (sql: Sql, { organizationId, id, credentialId, nonce }: Asking) =>
  credentialId === null
    ? sql`select`
    : sql`
      update agent_credentials set last_nonce = ${nonce ?? null}::uuid
      where organization_id = ${organizationId} and agent_id = ${id} and id = ${credentialId} and (last_nonce is null or last_nonce < ${nonce ?? null}::uuid)
      returning id`;

/**
 * Stores the reports of an agent, all or none. Returns the index of the first report that is of none of its assignments; then nothing is
 * stored. A report gets an audit event and a row of history only when it differs from the last one. What is removing, and reported removed,
 * is deleted.
 */
export async function saveReports(sql: Sql, scope: Scope, agentId: string, { reports, host }: AgentReport, now: Date) {
  const { organizationId } = scope;
  const at = now.toISOString();
  const rows = reports.map(({ assignmentId, state, observedFingerprint, message, observedAt }, index) => ({
    index,
    id: assignmentId,
    state,
    fingerprint: observedFingerprint?.toLowerCase(),
    message,
    observed: observedAt,
  }));
  const news = sql`
      select id, jsonb_strip_nulls(jsonb_build_object('state', state, 'observedFingerprint', fingerprint, 'message', message)) from reported where is_news`;
  const [row] = await sql<{ unknown: number | null }[]>`
    -- locks the agent
    with agent as (select id from agents where organization_id = ${organizationId} and id = ${agentId} for no key update),
    -- the reports of the request
    given as (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as report (index int, id uuid, state text, fingerprint text, message text, observed timestamptz)),
    -- locks the reported assignments; is_news when a report differs from the stored one in more than its times
    current as (
      select a.id, (reported_state, reported_fingerprint, reported_message) is distinct from (given.state, given.fingerprint, given.message) as is_news,
        removing_since is not null and given.state = 'removed' as is_gone
      from agent join assignments a on a.organization_id = ${organizationId} and a.agent_id = agent.id join given on given.id = a.id
      for no key update of a),
    -- index of the first report without an assignment; null when each has one
    missing as (select min(index) as index from given where not exists (select from current where current.id = given.id)),
    -- deletes what is removed, unless one is missing
    deleted as (
      delete from assignments a using missing, current
      where a.organization_id = ${organizationId} and a.agent_id = ${agentId} and a.id = current.id and is_gone and missing.index is null returning a.*),
    -- stores the last report of each other assignment, unless one is missing
    reported as (
      update assignments set reported_state = given.state, reported_fingerprint = given.fingerprint, reported_message = given.message, reported_at = ${at},
        observed_at = date_trunc('milliseconds', given.observed)
      from missing, given join current on current.id = given.id
      where assignments.organization_id = ${organizationId} and assignments.agent_id = ${agentId} and assignments.id = given.id and not is_gone and missing.index is null
      returning assignments.id, is_news, state, fingerprint, given.message, assignments.observed_at),
    -- updates the agent, unless one is missing
    seen as (
      update agents set last_seen_at = ${at}, host = coalesce(${host ? JSON.stringify(host) : null}::jsonb, host)
      from agent, missing where organization_id = ${organizationId} and agents.id = agent.id and missing.index is null),
    -- adds the reports with news to the history
    kept as (
      insert into deployment_reports (organization_id, agent_id, assignment_id, id, state, observed_fingerprint, message, reported_at, observed_at)
      select ${organizationId}, ${agentId}, id, new_id(), state, fingerprint, message, ${at}, observed_at from reported where is_news),
    -- an audit event for each deleted assignment
    deleting as (${auditAssignments(sql, scope, "assignment.deleted", sql`deleted`)}),
    -- an audit event for each report with news
    audited as (${audit(sql, scope, "assignment.reported", news)})
    select index as unknown from missing`;
  return row?.unknown ?? undefined;
}
