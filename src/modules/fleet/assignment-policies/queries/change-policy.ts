import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { type Failure, type Resource, type Target, updateLocked } from "#db/outcome";
import { withFleetLock } from "#modules/fleet/agents/queries/fleet-lock";
import { fromJson, pairs, setAll } from "#modules/fleet/assignments/queries/columns";
import { targetOf } from "#modules/fleet/assignments/queries/place";
import { stampPolicy, whyUnproven } from "#modules/fleet/rollouts/queries/policy-stamps";
import { audit, type Scope } from "#modules/people/audit/queries";
import { changesBetween, describeRollout, describeRotation, isOtherMaterial, type Policy, patchPolicy } from "../rules";
import type { AssignmentPolicyPatch } from "../schema";
import { findFault, findObstacle, type Reach } from "./judge";
import { fromPolicies, showPolicy } from "./policies";
import { applyFurther } from "./reconcile";

type StoredPolicy = Pick<Policy, "name" | "selector" | "path" | "assignment"> & { version: number; rollout: string | null; isRotating: boolean };

/** Changes the policy, and applies it to the first agents. Its certificate and config are not changed while a rotation changes them. */
export function updatePolicy(
  sql: Pool,
  stamps: Stamps,
  scope: Scope,
  { id, versions }: Target,
  patch: AssignmentPolicyPatch,
  isDryRun: boolean,
): Promise<Resource | Reach | Failure> {
  const { organizationId } = scope;
  return withFleetLock(sql, organizationId, async (tx) => {
    const [row] = await tx<StoredPolicy[]>`
      select p.version, p.name, selector, selector_path as path, json_build_object(${pairs(tx, "p")}) as assignment,
        case when r.status in ('running', 'halted') then r.id end as rollout, exists (
          select from rollouts where organization_id = p.organization_id and predecessor_id = p.certificate_id and status in ('running', 'halted')) as "isRotating"
      ${fromPolicies(tx, organizationId)} and p.id = ${id} for update of p`;
    return updateLocked(row, versions, async (stored): Promise<Resource | Reach | Failure> => {
      const policy = patchPolicy(stored, patch);
      if ("invalid" in policy) return policy;
      const unproven = await whyUnproven(tx, stamps, scope, id);
      if (unproven) return { inTheWay: unproven };
      const refusal = await judgeChange(tx, organizationId, id, stored, policy, isDryRun);
      if (refusal) return refusal;
      const changes = changesBetween(stored, policy);
      if (Object.keys(changes).length > 0) await writeChange(tx, stamps, scope, id, policy, changes);
      return showPolicy(tx, organizationId, id);
    });
  });
}

/** Returns the reason against the change, if any, or in a dry run its effect. */
async function judgeChange(tx: Sql, organizationId: string, id: string, stored: StoredPolicy, policy: Policy, isDryRun: boolean) {
  const fault = await findFault(tx, organizationId, policy, tx`c.id <> ${stored.assignment.certificateId}`);
  if (fault) return fault;
  const isOther = isOtherMaterial(stored, policy);
  const isSame = !isOther && Object.keys(changesBetween(stored, policy)).length === 0;
  if (stored.rollout && !isSame) return { inTheWay: describeRollout(stored.rollout) };
  if (isOther && stored.isRotating) return { inTheWay: describeRotation(stored.assignment.certificateId) };
  const isElsewhere = isOther || stored.selector !== policy.selector;
  return isElsewhere || isDryRun ? findObstacle(tx, organizationId, policy, id, isDryRun) : undefined;
}

async function writeChange(tx: Sql, stamps: Stamps, scope: Scope, id: string, { name, selector, path, assignment }: Policy, changes: object) {
  const { organizationId } = scope;
  await tx`
    with changed as (
      update assignment_policies p set ${setAll(tx, "given")}, target = ${targetOf(tx, tx`given`)}, name = ${name}, selector = ${selector},
        selector_path = ${path}, applied_up_to = ${MIN_UUID}, version = p.version + 1, updated_at = now()
      from ${fromJson(tx, tx`${JSON.stringify(assignment)}::jsonb`, "given")} where p.organization_id = ${organizationId} and p.id = ${id} returning p.id),
    audited as (${audit(tx, scope, "assignment-policy.updated", tx`select id, ${JSON.stringify({ changes })}::jsonb from changed`)})
    select from changed`;
  await stampPolicy(tx, stamps, organizationId, id);
  await applyFurther(tx, stamps, scope, id);
}

/** Deletes the policy and its assignments, of the first agents at once. */
export function deletePolicy(sql: Pool, stamps: Stamps, scope: Scope, { id, versions }: Target) {
  const { organizationId } = scope;
  return withFleetLock(sql, organizationId, async (tx) => {
    const [row] = await tx<{ version: number; rollout: string | null }[]>`
      select p.version, case when r.status in ('running', 'halted') then r.id end as rollout ${fromPolicies(tx, organizationId)} and p.id = ${id} for update of p`;
    return updateLocked(row, versions, async ({ rollout }) => {
      if (rollout) return { inTheWay: describeRollout(rollout) };
      const unproven = await whyUnproven(tx, stamps, scope, id);
      if (unproven) return { inTheWay: unproven };
      await tx`
        with deleted as (
          update assignment_policies set deleted_at = now(), applied_up_to = ${MIN_UUID} where organization_id = ${organizationId} and id = ${id} returning id, name, selector),
        audited as (${audit(tx, scope, "assignment-policy.deleted", tx`select id, jsonb_build_object('name', name, 'selector', selector) from deleted`)})
        select from deleted`;
      await stampPolicy(tx, stamps, organizationId, id);
      await applyFurther(tx, stamps, scope, id);
      return "done" as const;
    });
  });
}
