import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Resource } from "#db/outcome";
import type { PageAfter } from "#db/page";
import { pairs } from "#modules/fleet/assignments/queries/columns";
import { conflictsJson } from "./conflicts";

/** The columns that every answer shows, as json; `more` adds names and values. */
const policyJson = (sql: Sql, more = sql``) => sql`json_build_object('id', p.id, 'organizationId', p.organization_id, 'name', p.name, 'selector', selector,
  ${pairs(sql, "p")}, 'rolloutId', rollout_id, 'state', case r.status when 'running' then 'rolling_out' when 'halted' then 'halted' when 'rolling_back' then 'rolling_back' when 'rolled_back' then 'rolled_back'
    else case when applied_up_to is null then 'applied' else 'applying' end end,
  'heldSince', iso(p.held_since), 'version', p.version, 'createdAt', iso(p.created_at), 'updatedAt', iso(p.updated_at)${more})::text`;

export const fromPolicies = (sql: Sql, organizationId: string) => sql`
  from assignment_policies p left join rollouts r on (r.organization_id, r.id) = (p.organization_id, p.rollout_id)
  where p.organization_id = ${organizationId} and deleted_at is null`;

/** With how many agents it has reached, and where something else has its place. */
export async function findPolicy(sql: Sql, organizationId: string, id: string) {
  const agents = sql`(select count(distinct agent_id)::int from assignments a where a.organization_id = p.organization_id and a.policy_id = p.id and removing_since is null)`;
  const [row] = await sql<Resource[]>`
    select p.version, ${policyJson(sql, sql`, 'agents', ${agents}, 'conflicts', ${conflictsJson(sql)}`)} as json ${fromPolicies(sql, organizationId)} and p.id = ${id}`;
  return row;
}

/** The oldest first; one more than `limit`. */
export async function listPolicies(sql: Sql, organizationId: string, { limit, after }: PageAfter) {
  const rows = await sql<{ id: string; json: string }[]>`
    select p.id, ${policyJson(sql)} as json ${fromPolicies(sql, organizationId)} and p.id > ${after ?? MIN_UUID} order by p.id limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** The policy as the transaction has written it. */
export async function showPolicy(sql: Sql, organizationId: string, id: string) {
  const shown = await findPolicy(sql, organizationId, id);
  if (!shown) throw new Error("a policy is gone in the transaction that wrote it");
  return shown;
}
