import { type Facts, fromHex, type Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import { targetOf } from "#modules/fleet/assignments/queries/place";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";
import { type Challenge, challengeFactsJson } from "./challenge-facts";

/** The deployment `json` of a request as the row `wanted`, with the columns of an assignment. */
export const fromDeployment = (sql: Sql, json: Fragment) => sql`lateral (
  select ${json}->>'applicationId' as application_id, ${json}->>'trustStoreType' as trust_store_type, ${json}->>'materialType' as material_type,
    ${json}->'config' as config) as wanted`;

/**
 * The facts of a request that its stamp covers: what is to be issued, by whom and for which key, its approval, and what becomes
 * of the certificate.
 */
export const requestFacts = ({ approvedTerms, ...facts }: Record<string, unknown>): Facts => [
  "certificate-request",
  approvedTerms == null ? facts : { ...facts, approvedTerms }, // older stamps are without it
];

/** The facts of the request `r`. */
export const requestFactsJson = (
  sql: Sql,
  r = sql`r`,
) => sql`json_build_object('organizationId', ${r}.organization_id, 'id', ${r}.id, 'issuerId', ${r}.issuer_id,
  'names', ${r}.names, 'keyLocation', ${r}.key_location, 'keyAlgorithm', ${r}.key_algorithm, 'csr', encode(${r}.csr, 'hex'), 'profile', ${r}.profile,
  'replaces', ${r}.replaces, 'agentId', ${r}.agent_id, 'deployment', ${r}.deployment, 'mayBegin', ${r}.approval in ('none', 'given'), 'approvedTerms', ${r}.approved_by->>'terms')`;

/** The facts of the request `r` and its stamp, for `isRequestProven`. */
export const requestProofJson = (sql: Sql, r = sql`r`) => sql`json_build_object('facts', ${requestFactsJson(sql, r)}, 'stamp', encode(${r}.stamp, 'hex'))`;
export type RequestProof = { facts: Record<string, unknown>; stamp: string | null };

/** True where a server took the order as it is. */
export const isRequestProven = (stamps: Stamps, { facts, stamp }: RequestProof) => stamps.hold(fromHex(stamp), requestFacts(facts));

export const UNPROVEN_REQUEST = `The certificate request ${UNPROVEN}: cancel it, and order again. ${TO_TRUST}`;

/** Stamps the request as this transaction has written it. */
export async function stampRequest(tx: Sql, stamps: Stamps, organizationId: string, id: string) {
  const [row] = await tx<{ facts: Record<string, unknown> }[]>`
    select ${requestFactsJson(tx)} as facts from certificate_requests r where organization_id = ${organizationId} and id = ${id}`;
  if (row)
    await tx`update certificate_requests set stamp = ${stamps.of(requestFacts(row.facts))}::bytea where organization_id = ${organizationId} and id = ${id}`;
}

/**
 * A key that an agent is asked for as the database has it: what the agent gets of it, what proves it, and the challenges that
 * the agent is to answer for it.
 */
export type AskedKey = RequestProof & { request: { requestId: string }; challenges: AskedChallenge[] };
type AskedChallenge = { challenge: { id: string }; facts: Challenge; stamp: string | null };

/** SQL condition: the request `r` is to have a key of its agent, which keeps one that it has made while another approval is awaited. */
const isOpen = (sql: Sql) => sql`r.key_location = 'agent' and r.ended_at is null and (r.approval in ('none', 'given') or r.csr is not null)`;

/**
 * Part of a statement: the assignment for the certificate of the request `r`, as `place`. A renewal has that of the certificate
 * it replaces; else one is made, with the request's id.
 */
export const placeOf = (sql: Sql) => sql`
  left join lateral (
    select a.* from assignments a cross join ${fromDeployment(sql, sql`r.deployment`)}
    where a.organization_id = r.organization_id and a.agent_id = r.agent_id and a.certificate_id = r.replaces and a.trust_store_type = wanted.trust_store_type and a.removing_since is null
    order by a.target = ${targetOf(sql, sql`wanted`)} desc, a.id limit 1) as place on true`;

/** Part of a statement: `asked`, the requests for which the `agent` is to make keys, or to keep those that it has made. */
export const askedKeys = (sql: Sql, what: Fragment) => sql`
  asked as (
    select r.id, ${what} from agent
    join certificate_requests r on r.organization_id = agent.organization_id and r.agent_id = agent.id and ${isOpen(sql)} ${placeOf(sql)})`;

/** The facts of a request that change the desired state of its agent. */
export const changing = (sql: Sql) => sql`concat_ws(' ', r.id, r.csr is not null, place.id, place.version, (
  select string_agg(c.id || ' ' || (c.shown_at is not null), ' ' order by c.id) from host_challenges c where c.organization_id = r.organization_id and c.request_id = r.id)) as change`;

const challengesJson = (sql: Sql) => sql`(
  select coalesce(json_agg(json_build_object('facts', ${challengeFactsJson(sql)}, 'stamp', encode(c.stamp, 'hex'), 'challenge', json_build_object(
    'id', c.id, 'requestId', r.id, 'name', c.name, 'token', c.token, 'thumbprint', c.thumbprint, 'isShown', c.shown_at is not null, 'proof', r.deployment->'proof')) order by c.id), '[]')
  from host_challenges c where c.organization_id = r.organization_id and c.request_id = r.id)`;

/** A request in the desired state of its agent, with its proof. */
export const askedJson = (
  sql: Sql,
) => sql`json_build_object('facts', ${requestFactsJson(sql)}, 'stamp', encode(r.stamp, 'hex'), 'challenges', ${challengesJson(sql)}, 'request', json_build_object(
  'requestId', r.id, 'algorithm', r.key_algorithm, 'names', r.names, 'hasCsr', r.csr is not null,
  'commonName', (
    select name->>'value' from jsonb_array_elements(r.names) with ordinality as each (name, place)
    where name->>'type' = 'dns' and length(name->>'value') <= 64 order by each.place limit 1),
  'assignment', json_build_object('id', coalesce(place.id, r.id), 'trustStoreType', coalesce(place.trust_store_type, r.deployment->>'trustStoreType'),
    'materialType', coalesce(place.material_type, r.deployment->>'materialType'), 'config', coalesce(place.config, r.deployment->'config')))) as json`;
