import { arrayOf, type Fragment, type Sql } from "#db/connect";

/**
 * Part of a writing statement: queues the agents of `ids` for review by all policies. A trigger does so for each changed agent,
 * unless the transaction sets `certitude.queues_relabelled`.
 */
export const queueRelabelled = (sql: Sql, organizationId: string, ids: Fragment) =>
  sql`insert into relabelled_agents (organization_id, agent_id) select ${organizationId}, id from (${ids}) as relabelled (id)`;

/**
 * SQL condition: a selector of the organization's policies names one of these labels, so their change may matter to it. Exact
 * only under the fleet's lock, which every change of a policy holds.
 */
export const hasPoliciesOn = (sql: Sql, organizationId: string, labels: string[]) => sql`exists (
  select from assignment_policies where organization_id = ${organizationId} and selector_path like any(${arrayOf(labels.map((label) => JSON.stringify(`%$."${label}"%`)))}::text[]))`;
