import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Failure, Resource, Target } from "#db/outcome";
import { whereVersion } from "#db/versions";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import type { Scope } from "#modules/people/audit/queries";
import {
  type ConfigPatch,
  describeHolder,
  describeOwner,
  describeRejection,
  type Holder,
  type Ineligible,
  type Rejection,
  type readNewAssignment,
} from "../rules";
import type { AssignmentPatch } from "../schema/assignments";
import { coalesced, columns, fromJson, pairs, setAll } from "./columns";
import { auditAssignments, auditChange } from "./events";
import { lastReport, newestReports } from "./history";
import { differsInPlace, policyAt, targetOf } from "./place";

/** The whole answer; `a` is the assignment and `common_name` its certificate's. `more` adds names and values. */
export const assignmentJson = (sql: Sql, more = sql``) => sql`json_build_object('id', a.id, 'organizationId', a.organization_id, 'agentId', a.agent_id,
  ${pairs(sql, "a")}, 'policyId', a.policy_id, 'version', a.version, 'etag', '"' || a.version || '"', 'commonName', common_name,
  'createdAt', iso(a.created_at), 'updatedAt', iso(a.updated_at)${more})::text`;

/** What lists show besides: since when the assignment is `removing`. */
export const removal = (sql: Sql) => sql`, 'removingSince', iso(a.removing_since)`;

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

/** Returns `not found` when there is no such agent, `conflict` when the agent has this certificate at this place of the store already; a policy that has the place is named. */
export async function createAssignment(sql: Sql, scope: Scope, given: Complete): Promise<Created | Exclude<Failure, "stale">> {
  const { organizationId } = scope;
  const demands = { isChosen: sql`true`, material: sql`given.material_type`, withKey: sql`given.include_private_key` };
  const [row] = await sql<({ fault: Ineligible | "no agent" | null; holder: Holder | null } & (Created | { id: null }))[]>`
    -- locks the agent, so that it is not deleted, and so that no policy takes the place meanwhile
    with agent as (select id from agents where organization_id = ${organizationId} and id = ${given.agentId} for no key update),
    -- the given assignment, with the reason to reject it or null
    given as (
      select given.*, common_name, case when not exists (select from agent) then 'no agent' ${ineligibility(sql, demands)} end as fault
      from ${fromJson(sql, sql`${JSON.stringify(given)}::jsonb`, "given")}
      left join certificates c on c.organization_id = ${organizationId} and c.id = given.certificate_id),
    -- the same with the policy that has its place or null
    judged as materialized (select given.*, case when fault is null then ${policyAt(sql, organizationId, sql`given`, sql`null::uuid`)} end as holder from given),
    -- adds the assignment, unless it is rejected or its place is in use
    a as (
      insert into assignments (organization_id, id, agent_id, target, ${columns(sql)})
      select ${organizationId}, ${Bun.randomUUIDv7()}, agent.id, ${targetOf(sql, sql`config`)}, ${columns(sql, "judged")}
      from agent, judged where fault is null and holder is null on conflict do nothing returning *),
    -- the audit event of the new assignment
    audited as (${auditAssignments(sql, scope, "assignment.created", sql`a`)})
    select fault, holder, a.id, a.version, ${assignmentJson(sql)} as json from judged left join a on true`;
  if (!row) throw new Error("an assignment was neither made nor refused");
  if (row.fault === "no agent") return "not found";
  if (row.fault) return describeRejection(row.fault, given.trustStoreType);
  if (row.holder) return { inTheWay: describeHolder(row.holder, given.agentId) };
  return row.id === null ? "conflict" : row;
}

/** An assignment is looked for at its agent alone. */
export type OfAgent = { agentId: string };
/** The patch as it was sent, and what the rules made of it. */
type Change = { patch: Omit<AssignmentPatch, "version" | "etag">; config: ConfigPatch | undefined; materialStores: TrustStoreType[] | undefined };
/** What must still hold besides If-Match: what the body names. */
type Precondition = { version?: number | undefined; etag?: string | undefined };

type Verdict = Rejection | "stale" | "owned" | "conflict" | "same" | "changed";
type Judged = Resource & { verdict: Verdict; trustStoreType: TrustStoreType; policyId: string | null; holder: Holder | null };

/** Decides and writes in one statement, under the row's lock. Returns the assignment as it is afterwards; `conflict` when it is being removed, another one has its place, or the body names another version; a policy that it belongs to, or that has the place, is named. */
export async function updateAssignment(
  sql: Sql,
  scope: Scope,
  { agentId, id, versions }: Target & OfAgent,
  { patch, config, materialStores }: Change,
  must: Precondition,
): Promise<Resource | Failure> {
  const { organizationId } = scope;
  const { set, remove, defaults, suits } = config ?? { set: {}, remove: [], defaults: {}, suits: undefined };
  const { config: _, ...sent } = patch;
  const demands = { isChosen: sql`c.id <> a.certificate_id`, material: sql`w.material_type`, withKey: sql`w.include_private_key` };
  const statement = sql<Judged[]>`
    -- locks the agent, so that no policy takes the place meanwhile
    with agent as (select id from agents where organization_id = ${organizationId} and id = ${agentId} for no key update),
    -- locks the assignment as it is now
    a as (
      select assignments.* from agent join assignments on organization_id = ${organizationId} and agent_id = agent.id and assignments.id = ${id} for update of assignments),
    -- the assignment as the patch makes it
    wanted as (
      select ${coalesced(sql, "sent", "a")},
        coalesce(${JSON.stringify(defaults)}::jsonb->a.trust_store_type, '{}') || ((a.config || ${JSON.stringify(set)}::jsonb) - ${arrayOf(remove)}::text[]) as config
      from a, ${fromJson(sql, sql`${JSON.stringify(sent)}::jsonb`, "sent")}),
    -- the verdict: the first rule that fails, or whether there is a change
    verdict as (
      select w.*, common_name, case
        when w.trust_store_type <> all(${suits ? arrayOf(suits) : null}::text[]) then 'unfit config'
        when w.trust_store_type <> all(${materialStores ? arrayOf(materialStores) : null}::text[]) then 'unfit material'
        when w.material_type = 'trust_anchor' and w.include_private_key then 'anchor with key' ${ineligibility(sql, demands)}
        when not ${whereVersion(sql, versions, sql`a.version`)} then 'stale'
        when a.removing_since is not null then 'conflict'
        when a.policy_id is not null then 'owned'
        when a.version <> ${must.version ?? null}::int or '"' || a.version || '"' <> ${must.etag ?? null} then 'conflict'
        when (${columns(sql, "a")}) = (${columns(sql, "w")}) then 'same'
        else 'changed' end as verdict, ${differsInPlace(sql, sql`a`, sql`w`)} as moves
      from a cross join wanted w left join certificates c on c.organization_id = ${organizationId} and c.id = w.certificate_id),
    -- the same with the policy that has the new place or null
    judged as materialized (select w.*, case when verdict = 'changed' and moves then ${policyAt(sql, organizationId, sql`w`, sql`${id}::uuid`)} end as holder from verdict w),
    -- writes the change
    changed as (
      update assignments set ${setAll(sql, "j")}, target = ${targetOf(sql, sql`j.config`)}, version = assignments.version + 1, updated_at = now()
      from judged j where organization_id = ${organizationId} and agent_id = ${agentId} and id = ${id} and verdict = 'changed' and holder is null returning assignments.*),
    -- the audit event of the change
    audited as (${auditChange(sql, scope, sql`a`, sql`changed`)})
    select verdict, holder, a.policy_id as "policyId", a.trust_store_type as "trustStoreType", a.version, ${assignmentJson(sql)} as json
    from judged cross join lateral (select * from changed union all select * from a where verdict <> 'changed' or holder is not null) as a`;
  const [judged] = await statement.catch(conflictOrThrow);
  if (judged === undefined) return "not found";
  if (judged === "conflict") return judged;
  const { verdict, trustStoreType, policyId, holder } = judged;
  if (holder) return { inTheWay: describeHolder(holder, agentId) };
  if (verdict === "owned") return { inTheWay: describeOwner(id, policyId ?? "") };
  if (verdict === "changed" || verdict === "same") return judged;
  return verdict === "stale" || verdict === "conflict" ? verdict : describeRejection(verdict, trustStoreType, patch.config);
}

/** Returns `conflict` for a unique violation (23505), because UPDATE has no ON CONFLICT: another assignment has the place. */
function conflictOrThrow(error: unknown): ["conflict"] {
  if (error instanceof Error && "code" in error && error.code === "23505") return ["conflict"];
  throw error;
}

/** The oldest first, one more than `limit`; undefined when there is no such agent. */
export async function listAssignments(sql: Sql, organizationId: string, agentId: string, { limit, after }: { limit: number; after: string | undefined }) {
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
