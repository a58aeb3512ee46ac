import type { Fragment, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import type { Resource } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { wakeIssuer } from "#modules/issuance/issuers/queries/due";
import { addSteps } from "#modules/issuance/issuing/queries";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import { hashNames, valuesOf } from "#modules/issuance/issuing/rules/names";
import type { IssuancePolicy, KeyLocation } from "#modules/issuance/issuing/rules/policy";
import { recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";

/** The JSON of a request as answers show it: never keys and what a driver keeps. */
export const requestJson = (sql: Sql) => sql`jsonb_build_object('id', id, 'organizationId', organization_id, 'issuerId', issuer_id,
  'names', (select jsonb_agg(name->'value' order by place) from jsonb_array_elements(names) with ordinality as each (name, place)),
  'key', jsonb_build_object('algorithm', key_algorithm, 'location', key_location), 'deployment', deployment, 'profile', profile,
  'autoRenew', auto_renew, 'renewAt', iso(renew_at), 'replaces', replaces, 'status', status, 'approval', approval, 'reason', reason,
  'certificateId', certificate_id, 'nextAttemptAt', case when attempts > 0 and ended_at is null then iso(due_at) end,
  'createdBy', created_by, 'approvedBy', approved_by - 'terms', 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at), 'endedAt', iso(ended_at))`;

type Filter = { status?: string | undefined; issuerId?: string | undefined; name?: string | undefined };

/**
 * Newest first; one more than `limit`. The requests of a name are few: behind OFFSET 0, because beside them a plan would read all of the
 * organization.
 */
export async function listRequests(sql: Sql, organizationId: string, { status, issuerId, name }: Filter, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${requestJson(sql)}::text as json
    from ${name === undefined ? sql`certificate_requests` : sql`(select * from certificate_requests where search @@ ${wordsQuery(organizationId, name)}::tsquery offset 0) as named`}
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID}
      ${status === undefined ? sql`` : sql`and status = ${status}`} ${status === undefined || status === "issued" ? sql`` : sql`and status <> 'issued'`}
      ${issuerId === undefined ? sql`` : sql`and issuer_id = ${issuerId}`}
    order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

const quote = (word: string) => `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
const wordsQuery = (...words: string[]) => words.map(quote).join(" & ");

/** A request with what happened to it. */
export async function findRequest(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<Resource[]>`
    select (${requestJson(sql)} || jsonb_build_object('steps', (
      select coalesce(jsonb_agg(jsonb_build_object('status', s.status, 'reason', s.reason, 'at', iso(s.at)) order by s.id), '[]')
      from certificate_request_steps s where s.organization_id = r.organization_id and s.request_id = r.id)))::text as json, version
    from certificate_requests r where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

export type NewRequest = {
  id: string;
  issuerId: string;
  names: Name[];
  keyAlgorithm: string;
  keyLocation: KeyLocation;
  csr: Uint8Array | null;
  agentId: string | null;
  deployment: object | null;
  profile: string | null;
  autoRenew: boolean;
  renewAt: string | null;
  replaces: string | null;
  isApproved: boolean;
};

const WAITS_FOR_KEY = "It waits for the agent's key.";
const WAITS_FOR_APPROVAL = "It waits for the approval of another admin.";

/** Part of an update or insert: when the first step is due, of a request that may have to wait for an approval or a key. */
export const firstDue = (sql: Sql) => sql`case when approval in ('none', 'given') and (key_location = 'server' or csr is not null) then now() end`;
export const firstReason = (sql: Sql) =>
  sql`case when approval = 'awaited' then ${WAITS_FOR_APPROVAL}::text when key_location = 'agent' and csr is null then ${WAITS_FOR_KEY}::text end`;

/** Adds a request; undefined where one is open for the same names. The issuer is locked. */
export async function insertRequest(tx: Sql, scope: Scope, given: NewRequest) {
  const words = [scope.organizationId, ...valuesOf(given.names)];
  const details = tx`jsonb_build_object('issuerId', issuer_id, 'names', names, 'keyLocation', key_location, 'replaces', replaces, 'approval', approval)`;
  const [row] = await tx<Resource[]>`
    with given as (
      select ${given.isApproved ? "none" : "awaited"}::certificate_request_approval as approval, ${given.keyLocation}::key_location as key_location, ${given.csr}::bytea as csr),
    created as (
      insert into certificate_requests (organization_id, id, issuer_id, names, names_hash, key_algorithm, key_location, csr, agent_id, deployment, profile, auto_renew,
        renew_at, replaces, approval, reason, due_at, created_by, search)
      select ${scope.organizationId}, ${given.id}, ${given.issuerId}, ${JSON.stringify(given.names)}::text::jsonb, ${hashNames(given.names)}, ${given.keyAlgorithm}, key_location, csr,
        ${given.agentId}::uuid, ${given.deployment && JSON.stringify(given.deployment)}::text::jsonb, ${given.profile}, ${given.autoRenew}, ${given.renewAt}::timestamptz,
        ${given.replaces}::uuid, approval, ${firstReason(tx)}, ${firstDue(tx)}, ${JSON.stringify(scope.actor)}::text::jsonb,
        array_to_tsvector(array(select jsonb_array_elements_text(${JSON.stringify(words)}::text::jsonb)))
      from given on conflict do nothing returning *),
    stepped as (${addSteps(tx, tx`select organization_id, id, status, reason from created`)}),
    woken as (${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from created`)}),
    audited as (${audit(tx, scope, "certificate-request.created", tx`select id, ${details} from created`)}),
    recorded as (${recordAwaited(tx, tx`created`)})
    select ${requestJson(tx)}::text as json, version from created`;
  return row;
}

/** Part of a writing statement: an event of each of `requests` that waits for an approval. */
export const recordAwaited = (sql: Sql, requests: Fragment) =>
  recordEvents(
    sql,
    "certificate_request_awaits_approval",
    sql`
      select organization_id, id, jsonb_build_object('requestId', id, 'name', names->0->>'value'), null::uuid, null::member_role from ${requests} where approval = 'awaited'`,
  );

/** Has a request begin that waits for nothing any more; `note` says of its step what came about. */
export async function begin(tx: Sql, isIt: Fragment, note: string): Promise<Resource> {
  const [row] = await tx<Resource[]>`
    with begun as (
      update certificate_requests set reason = ${firstReason(tx)}, due_at = ${firstDue(tx)}, updated_at = now() where ${isIt} returning *),
    stepped as (${addSteps(tx, tx`select organization_id, id, status, coalesce(${note}::text || ' ' || reason, ${note}) from begun`)}),
    woken as (${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from begun`)})
    select ${requestJson(tx)}::text as json, version from begun`;
  if (!row) throw new Error("a certificate request vanished while it was locked");
  return row;
}

type Open = Pick<NewRequest, "issuerId" | "names" | "agentId">;

/** Returns the request that is open for the same names at the same issuer. */
export async function findOpen(sql: Sql, organizationId: string, { issuerId, names, agentId }: Open) {
  const [row] = await sql<{ id: string }[]>`
    select id from certificate_requests
    where organization_id = ${organizationId} and issuer_id = ${issuerId} and names_hash = ${hashNames(names)} and agent_id is not distinct from ${agentId}::uuid and ended_at is null`;
  return row?.id;
}

export async function findAgent(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<{ id: string }[]>`select id from agents where organization_id = ${organizationId} and id = ${id}`;
  return row?.id;
}

/** Returns the policy of an organization; undefined where it has the default. */
export async function findPolicy(sql: Sql, organizationId: string) {
  const [row] = await sql<IssuancePolicy[]>`
    select allowed_domains as "allowedDomains", allowed_addresses as "allowedAddresses", allowed_key_algorithms as "allowedKeyAlgorithms",
      allowed_key_locations as "allowedKeyLocations", needs_approval as "needsApproval" from issuance_policies where organization_id = ${organizationId}`;
  return row;
}
