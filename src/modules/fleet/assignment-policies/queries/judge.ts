import type { Fragment, Sql } from "#db/connect";
import { ineligibility } from "#modules/fleet/assignments/queries/assignments";
import { describeIneligible, type Ineligible } from "#modules/fleet/assignments/rules";
import { describeConflicts, describeTwin, type Policy } from "../rules";
import { findReach } from "./conflicts";

/** The answer of a dry run. */
export type Reach = { reach: string };

/** Returns why the certificate does not suit the policy, if it does not. */
export async function findFault(tx: Sql, organizationId: string, { assignment }: Policy, isChosen: Fragment) {
  const demands = { isChosen, material: tx`${assignment.materialType}::text`, withKey: tx`${assignment.includePrivateKey}` };
  const [judged] = await tx<{ fault: Ineligible | null }[]>`
    select case ${ineligibility(tx, demands)} end as fault
    from (values (1)) as one left join certificates c on c.organization_id = ${organizationId} and c.id = ${assignment.certificateId}`;
  return judged?.fault ? describeIneligible(judged.fault) : undefined;
}

/** Returns the other owner of the policy's place, if any; in a dry run, all that it would meet. */
export async function findObstacle(
  tx: Sql,
  organizationId: string,
  policy: Policy,
  id: string,
  isDryRun: boolean,
): Promise<Reach | { inTheWay: string } | undefined> {
  const { matched, total, items, twin } = await findReach(tx, organizationId, policy, id);
  const shown = items.map(({ policyName: _, ...each }) => each);
  if (isDryRun) return { reach: JSON.stringify({ agents: matched - total, conflicts: { total, items: shown } }) };
  if (total > 0) return { inTheWay: describeConflicts(policy.name, total, items) };
  return twin ? { inTheWay: describeTwin(policy.name, twin) } : undefined;
}
