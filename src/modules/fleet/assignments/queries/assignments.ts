import type { Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Failure, Resource, Target } from "#db/outcome";
import type { PageAfter } from "#db/page";
import type { Scope } from "#modules/people/audit/queries";
import { describeHolder, describeIneligible, type Holder, type Ineligible, type readNewAssignment } from "../rules";
import { columns, fromJson, pairs } from "./columns";
import { auditAssignments } from "./events";
import { lastReport, newestReports } from "./history";
import { policyAt, targetOf } from "./place";
import { orderOf } from "./stamps";

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

type Created = Resource & { id: string };

/** An assignment with every default in place. */
type Complete = Extract<ReturnType<typeof readNewAssignment>, { config: unknown }> & { agentId: string };

/**
 * Returns `not found` when there is no such agent, `conflict` when the agent has this certificate at this place of the store
 * already; a policy that has the place is named.
 */
export async function createAssignment(sql: Sql, stamps: Stamps, scope: Scope, given: Complete): Promise<Created | Exclude<Failure, "stale">> {
  const { organizationId } = scope;
  const id = Bun.randomUUIDv7();
  const stamp = stamps.of(orderOf({ ...given, organizationId, id, policyId: null }));
  const demands = { isChosen: sql`true`, material: sql`given.material_type`, withKey: sql`given.include_private_key` };
  const [row] = await sql<({ fault: Ineligible | "no agent" | null; holder: Holder | null } & (Created | { id: null }))[]>`
    -- locks the agent, so that it is not deleted, and so that no policy takes the place meanwhile
    with agent as (select organization_id, id from agents where organization_id = ${organizationId} and id = ${given.agentId} for no key update),
    -- the given assignment, with the reason to reject it or null
    given as (
      select given.*, common_name, case when not exists (select from agent) then 'no agent' ${ineligibility(sql, demands)} end as fault
      from ${fromJson(sql, sql`${JSON.stringify(given)}::jsonb`, "given")}
      left join certificates c on c.organization_id = ${organizationId} and c.id = given.certificate_id),
    -- the same with the policy that has its place or null
    judged as materialized (select given.*, case when fault is null then ${policyAt(sql, organizationId, sql`given`, sql`null::uuid`)} end as holder from given),
    -- adds the assignment, unless it is rejected or its place is in use
    a as (
      insert into assignments (organization_id, id, agent_id, target, stamp, ${columns(sql)})
      select ${organizationId}, ${id}, agent.id, ${targetOf(sql, sql`judged`)}, ${stamp}::bytea, ${columns(sql, "judged")}
      from agent, judged where fault is null and holder is null on conflict do nothing returning *),
    -- the audit event of the new assignment
    audited as (${auditAssignments(sql, scope, "assignment.created", sql`a`)})
    select fault, holder, a.id, a.version, ${assignmentJson(sql)} as json from judged left join a on true`;
  if (!row) throw new Error("an assignment was neither made nor refused");
  if (row.fault === "no agent") return "not found";
  if (row.fault) return describeIneligible(row.fault);
  if (row.holder) return { inTheWay: describeHolder(row.holder, given.agentId) };
  return row.id === null ? "conflict" : row;
}

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
