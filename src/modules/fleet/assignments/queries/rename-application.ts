import { arrayOf, type Sql } from "#db/connect";
import type { Failure, Resource } from "#db/outcome";
import { whereVersion } from "#db/versions";
import { audit, type Scope } from "#modules/people/audit/queries";
import { describeOwner } from "../rules";
import type { Assignment } from "../schema/assignments";
import { assignmentJson } from "./assignments";
import { type ChangeTarget, showChanged } from "./write-change";

type Judged = Resource & { verdict: "stale" | "conflict" | "owned" | "same" | "renamed"; policyId: string | null; updatedAt: string | null };

/**
 * Changes the applicationId, which neither hosts nor stamps know, in one statement. Returns `overtaken` when another request
 * was faster.
 */
export async function renameApplication(
  sql: Sql,
  scope: Scope,
  { agentId, id, versions, named }: ChangeTarget,
  applicationId: string | null,
): Promise<Resource | Failure | "overtaken"> {
  const { organizationId } = scope;
  const change = sql`jsonb_build_object('changes', jsonb_build_object('applicationId', jsonb_build_object('from', a.application_id, 'to', ${applicationId}::text)))`;
  const [row] = await sql<Judged[]>`
    -- the assignment, with the first rule that fails, or whether there is a change
    with a as (
      select assignments.*, common_name, case
        when not ${whereVersion(sql, versions, sql`assignments.version`)} then 'stale'
        when removing_since is not null then 'conflict'
        when policy_id is not null then 'owned'
        when assignments.version <> any(${arrayOf(named.map(String))}::int[]) then 'conflict'
        when application_id = coalesce(${applicationId}::text, application_id) then 'same'
        else 'renamed' end as verdict
      from assignments join certificates c on c.organization_id = assignments.organization_id and c.id = certificate_id
      where assignments.organization_id = ${organizationId} and agent_id = ${agentId} and assignments.id = ${id}),
    renamed as (
      update assignments set application_id = ${applicationId}::text, version = a.version + 1, updated_at = now() from a
      where assignments.organization_id = ${organizationId} and assignments.agent_id = ${agentId} and assignments.id = ${id}
        and assignments.version = a.version and verdict = 'renamed'
      returning assignments.id, assignments.updated_at),
    audited as (${audit(sql, scope, "assignment.updated", sql`select renamed.id, ${change} from renamed, a`)})
    select verdict, policy_id as "policyId", version, ${assignmentJson(sql)} as json, iso(renamed.updated_at) as "updatedAt" from a left join renamed on true`;
  if (!row) return "not found";
  switch (row.verdict) {
    case "same":
      return row;
    case "owned":
      return { inTheWay: describeOwner(id, row.policyId ?? "") };
    case "renamed":
      return row.updatedAt === null ? "overtaken" : showChanged({ ...(JSON.parse(row.json) as Assignment), applicationId: applicationId ?? "" }, row.updatedAt);
    default:
      return row.verdict;
  }
}
