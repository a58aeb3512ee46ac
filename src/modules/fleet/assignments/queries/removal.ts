import type { Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import type { Resource, Target } from "#db/outcome";
import { whereVersion } from "#db/versions";
import type { Scope } from "#modules/people/audit/queries";
import { describeOwner } from "../rules";
import { assignmentJson, type OfAgent, removal } from "./assignments";
import { auditAssignments } from "./events";
import { removalOf } from "./stamps";

/** SQL condition: nothing of the assignment `a` can be on its agent's host, by that agent's own word or because it has never asked. */
export const isGoneFrom = (sql: Sql, lastSeenAt: Fragment) => sql`(${lastSeenAt} is null or not a.enabled and a.reported_state is not distinct from 'removed')`;

/** Sets an assignment to `removing`: its agent is to remove it. Servers of the release before see one that is not enabled. */
export const removing = (sql: Sql, stamp: Fragment) =>
  sql`removing_since = now(), removal_stamp = ${stamp}, enabled = false, version = a.version + 1, updated_at = now()`;

type Judged = Resource & { isStale: boolean; isGone: boolean; owner: string | null };

/**
 * Returns `done` for an assignment that it deletes: of its certificate nothing can be on the host, or it has this `reason`.
 * Any other, but a policy's, is `removing` until its agent has removed it.
 */
export async function deleteAssignment(sql: Sql, stamps: Stamps, scope: Scope, { agentId, id, versions }: Target & OfAgent, reason?: string) {
  const { organizationId } = scope;
  const stamp = stamps.of(removalOf({ organizationId, agentId, id }));
  const isTarget = sql`assignments.organization_id = ${organizationId} and assignments.agent_id = ${agentId} and assignments.id = a.id`;
  const [row] = await sql<Judged[]>`
    -- locks the assignment as it is now
    with a as (select * from assignments where organization_id = ${organizationId} and agent_id = ${agentId} and id = ${id} for update),
    -- whether another version was asked for, whether it can be deleted at once, and the policy that keeps it
    judged as (
      select case when a.removing_since is null then a.policy_id end as owner, not ${whereVersion(sql, versions, sql`a.version`)} as is_stale, ${reason !== undefined}::boolean or ${isGoneFrom(sql, sql`last_seen_at`)} as is_gone
      from a join agents on agents.organization_id = ${organizationId} and agents.id = a.agent_id),
    deleted as (delete from assignments using a, judged where ${isTarget} and not is_stale and owner is null and is_gone returning a.*),
    changed as (
      update assignments set ${removing(sql, sql`${stamp}::bytea`)} from a, judged
      where ${isTarget} and not is_stale and owner is null and not is_gone and a.removing_since is null returning assignments.*),
    audited as (${auditAssignments(sql, scope, "assignment.deleted", sql`deleted`, sql`jsonb_strip_nulls(jsonb_build_object('reason', ${reason ?? null}::text))`)}),
    asked as (${auditAssignments(sql, scope, "assignment.removing", sql`changed`)})
    select owner, is_stale as "isStale", is_gone as "isGone", a.version, ${assignmentJson(sql, removal(sql))} as json
    from judged cross join lateral (select * from changed union all select * from a where not exists (select from changed)) as a
    join certificates c on c.organization_id = a.organization_id and c.id = a.certificate_id`;
  if (!row) return "not found";
  if (row.isStale) return "stale";
  if (row.owner !== null) return { inTheWay: describeOwner(id, row.owner) };
  return row.isGone ? "done" : { json: row.json, version: row.version };
}
