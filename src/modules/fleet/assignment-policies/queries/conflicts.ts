import type { Sql } from "#db/connect";
import { fromJson } from "#modules/fleet/assignments/queries/columns";
import { hasPlaceOf, targetOf } from "#modules/fleet/assignments/queries/place";
import type { Occupation, Policy } from "../rules";
import { matches } from "./matches";

const SHOWN = 20;

const occupationJson = (sql: Sql) =>
  sql`json_build_object('agentId', agent_id, 'agentName', agent_name, 'assignmentId', assignment_id, 'policyId', policy_id, 'policyName', policy_name)`;

/** `twin`: another policy for the same place that has the same selector, whether or not agents match it. */
type Reach = { matched: number; total: number; items: Occupation[]; twin: { id: string; name: string | null } | null };

/**
 * Returns the number of agents that match, and of those whose place another assignment or policy has. Agents that already have
 * such a conflict with the policy `id` do not count.
 */
export async function findReach(sql: Sql, organizationId: string, { assignment, selector, path }: Policy, id: string): Promise<Reach> {
  const [reach] = await sql<Reach[]>`
    -- the policy, as a row of the table
    with p as materialized (
      select ${organizationId}::uuid as organization_id, given.*, ${path}::jsonpath as path, ${targetOf(sql, sql`given`)} as target
      from ${fromJson(sql, sql`${JSON.stringify(assignment)}::jsonb`, "given")}),
    agent as materialized (
      select agent.id, agent.name, agent.labels from p join agents agent on agent.organization_id = ${organizationId} and ${matches(sql)}),
    -- other policies for its place
    rival as materialized (
      select o.id, o.name, o.selector, o.selector_path::jsonpath as path from p
      join assignment_policies o on o.organization_id = ${organizationId} and o.id <> ${id} and o.deleted_at is null and ${hasPlaceOf(sql, sql`o`, sql`p`)}),
    -- agents where an assignment has its place, or a policy that has yet to make one
    taken as (
      select agent.id as agent_id, agent.name as agent_name, o.id as assignment_id, o.policy_id, null as policy_name
      from p
      join assignments o on o.organization_id = ${organizationId} and o.policy_id is distinct from ${id}::uuid and o.removing_since is null and ${hasPlaceOf(sql, sql`o`, sql`p`)}
      cross join lateral (select id, name from agents agent where agent.organization_id = ${organizationId} and agent.id = o.agent_id and ${matches(sql)} offset 0) as agent
      union all
      select agent.id, agent.name, null, p.id, p.name from rival as p join agent on ${matches(sql)}),
    found as (
      select distinct on (agent_id) agent_id, agent_name, assignment_id, taken.policy_id, coalesce(policy_name, p.name) as policy_name from taken
      left join assignment_policies p on p.organization_id = ${organizationId} and p.id = taken.policy_id
      where not exists (select from policy_conflicts c where c.organization_id = ${organizationId} and c.policy_id = ${id} and c.agent_id = taken.agent_id)
      order by agent_id, assignment_id)
    select (select json_build_object('id', id, 'name', name) from rival where rival.selector is not distinct from ${selector} limit 1) as twin,
      (select count(*)::int from agent) as matched, (select count(*)::int from found) as total,
      (select coalesce(json_agg(${occupationJson(sql)}), '[]') from (select * from found order by agent_id limit ${SHOWN}) as shown) as items`;
  if (!reach) throw new Error("a policy reached nothing, not even no agents");
  return reach;
}

/** As JSON, the conflicts of the policy `p`: how many, and the first of them. */
export const conflictsJson = (sql: Sql) => sql`(
  select json_build_object('total', (select count(*)::int from policy_conflicts c where (c.organization_id, c.policy_id) = (p.organization_id, p.id)),
    'items', coalesce(json_agg(json_build_object('agentId', agents.id, 'agentName', agents.name, 'assignmentId', o.id, 'policyId', o.policy_id) order by agents.id), '[]'))
  from (select * from policy_conflicts c where (c.organization_id, c.policy_id) = (p.organization_id, p.id) order by agent_id limit ${SHOWN}) as c
  join agents on agents.organization_id = c.organization_id and agents.id = c.agent_id
  left join lateral (
    select o.id, o.policy_id from assignments o where o.organization_id = c.organization_id and o.agent_id = c.agent_id and o.policy_id is distinct from p.id and o.removing_since is null
      and ${hasPlaceOf(sql, sql`o`, sql`p`)} limit 1) as o on true)`;
