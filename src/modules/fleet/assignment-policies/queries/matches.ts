import { arrayOf, type Sql } from "#db/connect";
import { isGoneFrom } from "#modules/fleet/assignments/queries/removal";
import { isAnchor } from "#modules/fleet/rollouts/queries/apply-steps";

/** Which agents a transaction brings up to date, and with which policies. */
export type Part = { organizationId: string; agentIds: string[]; policyIds: string[] };

/** SQL condition: the policy or path `p` matches the agent. */
export const matches = (sql: Sql) => sql`(p.path is null or agent.labels @@ p.path)`;

/**
 * The beginning of a statement: agents with matching policies (`wanted`), and policies' assignments (`held`) by part: `main`,
 * `beside` (by a rotation) or `extra` (to go). Read by index, row by row.
 */
export const withMatches = (sql: Sql, { organizationId, agentIds, policyIds }: Part) => sql`
  -- the policies, and whether each may add assignments by itself
  with recursive p as materialized (
    select p.*, selector_path::jsonpath as path, coalesce(r.status = 'completed', true) as may_add
    from assignment_policies p left join rollouts r on (r.organization_id, r.id) = (p.organization_id, p.rollout_id)
    where p.organization_id = ${organizationId} and p.id = any(${arrayOf(policyIds)}::uuid[])),
  -- the successors of their certificates
  successor as (
    select p.id as policy_id, r.certificate_id as id from p join rollouts r on r.organization_id = p.organization_id and r.predecessor_id = p.certificate_id
    where r.status in ('running', 'halted', 'completed')
    union
    select s.policy_id, r.certificate_id from successor s join rollouts r on r.organization_id = ${organizationId} and r.predecessor_id = s.id
    where r.status in ('running', 'halted', 'completed')),
  agent as materialized (select id, labels, last_seen_at from agents where organization_id = ${organizationId} and id = any(${arrayOf(agentIds)}::uuid[])),
  -- each agent with each policy that matches it
  wanted as (select agent.id as agent_id, p.id as policy_id from p join agent on deleted_at is null and ${matches(sql)}),
  -- each assignment of the policies, and what it is to its policy
  held as materialized (
    select a.*, case when not is_wanted then 'extra' when place = 1 and not (is_successor and is_anchor) then 'main' when is_successor then 'beside' else 'extra' end as part,
      ${isGoneFrom(sql, sql`last_seen_at`)} as is_gone
    from (
      select o.*, last_seen_at, p.deleted_at is null and ${matches(sql)} as is_wanted, ${isSuccessor(sql)} as is_successor, ${isAnchor(sql)} as is_anchor,
        row_number() over (partition by o.agent_id, o.policy_id order by o.certificate_id = p.certificate_id desc, ${isSuccessor(sql)} desc, o.id) as place
      from p cross join agent
      cross join lateral (
        select * from assignments where organization_id = p.organization_id and policy_id = p.id and agent_id = agent.id and removing_since is null offset 0) as o) as a)`;

/** SQL condition: the assignment `o` has a successor of its policy's certificate. */
export const isSuccessor = (sql: Sql) => sql`exists (select from successor s where (s.policy_id, s.id) = (o.policy_id, o.certificate_id))`;
