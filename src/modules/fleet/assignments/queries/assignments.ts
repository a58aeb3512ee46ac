import type { Fragment, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Resource, Target } from "#db/outcome";
import type { PageAfter } from "#db/page";
import { pairs } from "./columns";
import { lastReport, newestReports } from "./history";

/** The whole answer; `a` is the assignment and `common_name` its certificate's. `more` adds names and values. */
export const assignmentJson = (sql: Sql, more = sql``) => sql`json_build_object('id', a.id, 'organizationId', a.organization_id, 'agentId', a.agent_id,
  ${pairs(sql, "a")}, 'keyOnHost', a.key_on_host, 'policyId', a.policy_id, 'version', a.version, 'etag', '"' || a.version || '"', 'commonName', common_name,
  'createdAt', iso(a.created_at), 'updatedAt', iso(a.updated_at)${more})::text`;

/** Fields of lists alone: since when the assignment is `removing`, and since when it is held. */
export const removal = (sql: Sql) => sql`, 'removingSince', iso(a.removing_since), 'heldSince', iso(a.held_since)`;

/**
 * Branches of a CASE: why the certificate `c` does not suit an assignment. `isChosen` holds when the request gives it this certificate:
 * then it must be active.
 */
export const ineligibility = (sql: Sql, { isChosen, material, withKey }: Record<"isChosen" | "material" | "withKey", Fragment>) => sql`
  when c.id is null then 'no certificate'
  when ${isChosen} and c.status <> 'active' then 'not active'
  when ${material} in ('trust_anchor', 'intermediate_ca') and not (c.is_ca or c.self_signed) then 'no authority'
  when ${withKey} and c.sealed_private_key is null then 'no key'`;

/** An assignment is looked for at its agent alone. */
export type OfAgent = { agentId: string };

/** The oldest first, one more than `limit`; undefined when there is no such agent. */
export async function listAssignments(sql: Sql, organizationId: string, agentId: string, { limit, after }: PageAfter) {
  const rows = await sql<{ json: string; id: string | null }[]>`
    select a.id, ${assignmentJson(sql, removal(sql))} as json from agents
    left join lateral (
      select assignments.*, common_name from assignments
      join certificates c on c.organization_id = assignments.organization_id and c.id = certificate_id
      where assignments.organization_id = agents.organization_id and agent_id = agents.id and assignments.id > ${after ?? MIN_UUID}
      order by assignments.id limit ${limit + 1}) as a on true
    where agents.organization_id = ${organizationId} and agents.id = ${agentId} order by a.id`;
  return rows.length === 0 ? undefined : rows.flatMap(({ id, json }) => (id === null ? [] : { json, key: [id] }));
}

/** With what its agent last reported, and the newest of its history. */
export async function findAssignment(sql: Sql, organizationId: string, { agentId, id }: OfAgent & Pick<Target, "id">) {
  const [row] = await sql<Resource[]>`
    select ${assignmentJson(sql, sql`${removal(sql)}, 'report', ${lastReport(sql)}, 'history', ${newestReports(sql, sql`20`)}`)} as json, a.version from assignments a
    join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id
    where a.organization_id = ${organizationId} and a.agent_id = ${agentId} and a.id = ${id}`;
  return row;
}
