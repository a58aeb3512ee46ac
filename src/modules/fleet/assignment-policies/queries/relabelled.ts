import type { Fragment, Sql } from "#db/connect";

/**
 * Part of a writing statement: puts the agents that `ids` yields into the queue of those that all policies are to look at. What writes new
 * labels does so in the same statement, so that no crash loses it.
 */
export const queueRelabelled = (sql: Sql, organizationId: string, ids: Fragment) =>
  sql`insert into relabelled_agents (organization_id, agent_id) select ${organizationId}, id from (${ids}) as relabelled (id)`;

/** SQL condition: the organization has a policy. Exact only under the fleet's lock, which every change of a policy holds. */
export const hasPolicies = (sql: Sql, organizationId: string) => sql`exists (select from assignment_policies where organization_id = ${organizationId})`;
