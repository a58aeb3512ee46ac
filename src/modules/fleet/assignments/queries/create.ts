import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Failure, Resource } from "#db/outcome";
import { audit, type Scope } from "#modules/people/audit/queries";
import { describeHolder, describeIneligible, type Holder, type Ineligible, type readNewAssignment } from "../rules";
import { ineligibility } from "./assignments";
import { columns, fromJson } from "./columns";
import { policyAt, targetOf } from "./place";
import { orderOf } from "./stamps";

type Created = Resource & { id: string };

/** An assignment with every default in place. */
type Complete = Extract<ReturnType<typeof readNewAssignment>, { config: unknown }> & { agentId: string };

type Judged = { fault: Ineligible | "no agent" | null; holder: Holder | null; commonName: string; createdAt: string | null };

/**
 * Returns `not found` when there is no such agent, `conflict` when the agent has this certificate at this place of the store
 * already; a policy that has the place is named.
 */
export async function createAssignment(sql: Sql, stamps: Stamps, scope: Scope, sent: Complete): Promise<Created | Exclude<Failure, "stale">> {
  const { organizationId } = scope;
  const given = { ...sent, agentId: sent.agentId.toLowerCase(), certificateId: sent.certificateId.toLowerCase() };
  const id = Bun.randomUUIDv7();
  const stamp = stamps.of(orderOf({ ...given, organizationId, id, policyId: null }));
  const demands = { isChosen: sql`true`, material: sql`given.material_type`, withKey: sql`given.include_private_key` };
  const [row] = await sql<Judged[]>`
    -- locks the agent, so that it is not deleted, and so that no policy takes the place meanwhile
    with agent as (select organization_id, id from agents where organization_id = ${organizationId} and id = ${given.agentId} for no key update),
    -- the given assignment, with the reason to reject it or null
    given as materialized (
      select given.*, common_name, case when not exists (select from agent) then 'no agent' ${ineligibility(sql, demands)} end as fault
      from ${fromJson(sql, sql`${JSON.stringify(given)}::jsonb`, "given")} left join certificates c on c.organization_id = ${organizationId} and c.id = given.certificate_id),
    -- the policy that has its place or null
    judged as materialized (select fault, common_name, case when fault is null then ${policyAt(sql, organizationId, sql`given`, sql`null::uuid`)} end as holder from given),
    -- adds the assignment, unless it is rejected or its place is in use
    created as (
      insert into assignments (organization_id, id, agent_id, target, stamp, ${columns(sql)})
      select ${organizationId}, ${id}, agent.id, ${targetOf(sql, sql`given`)}, ${stamp}::bytea, ${columns(sql, "given")}
      from agent, given, judged where judged.fault is null and holder is null on conflict do nothing returning id, created_at),
    audited as (${audit(sql, scope, "assignment.created", sql`select id, ${JSON.stringify(given)}::jsonb from created`)})
    select fault, holder, common_name as "commonName", iso(created_at) as "createdAt" from judged left join created on true`;
  if (!row) throw new Error("an assignment was neither made nor refused");
  const { fault, holder, commonName, createdAt } = row;
  if (fault === "no agent") return "not found";
  if (fault) return describeIneligible(fault);
  if (holder) return { inTheWay: describeHolder(holder, given.agentId) };
  if (createdAt === null) return "conflict";
  const assignment = { id, organizationId, ...given, keyOnHost: false, policyId: null, version: 1, etag: '"1"', commonName };
  return { id, version: 1, json: JSON.stringify({ ...assignment, createdAt, updatedAt: createdAt }) };
}
