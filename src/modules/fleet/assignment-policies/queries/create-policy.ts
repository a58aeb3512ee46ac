import type { Stamps } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Failure, Resource } from "#db/outcome";
import { withFleetLock } from "#modules/fleet/agents/queries/fleet-lock";
import { columns, fromJson, pairs } from "#modules/fleet/assignments/queries/columns";
import { targetOf } from "#modules/fleet/assignments/queries/place";
import { stampPolicy } from "#modules/fleet/rollouts/queries/policy-stamps";
import { startRollout } from "#modules/fleet/rollouts/queries/rollouts";
import type { CompiledRing } from "#modules/fleet/rollouts/rules";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { Policy } from "../rules";
import { findFault, findObstacle, type Reach } from "./judge";
import { showPolicy } from "./policies";
import { applyFurther } from "./reconcile";

type Rings = { rings: CompiledRing[]; haltShare: number; successShare: number };
type Created = Resource & { id: string };
type Refusal = Exclude<Failure, string>;

/** Makes the policy, and applies it to the first agents or, where it has rings, to the first ring. */
export function createPolicy(
  sql: Pool,
  stamps: Stamps,
  scope: Scope,
  policy: Policy,
  by: Rings | undefined,
  isDryRun: boolean,
  now: Date,
): Promise<Created | Reach | Refusal> {
  const { organizationId } = scope;
  const id = Bun.randomUUIDv7();
  return withFleetLock(sql, organizationId, async (tx) => {
    const refusal = (await findFault(tx, organizationId, policy, tx`true`)) ?? (await findObstacle(tx, organizationId, policy, id, isDryRun));
    if (refusal) return refusal;
    const { name, selector, path, assignment } = policy;
    const rolloutId = by ? Bun.randomUUIDv7() : null;
    const facts = tx`select id, jsonb_build_object('name', name, 'selector', selector, 'rolloutId', rollout_id, ${pairs(tx, "created")}) from created`;
    await tx`
      with created as (
        insert into assignment_policies (organization_id, id, name, selector, selector_path, rollout_id, applied_up_to, target, ${columns(tx)})
        select ${organizationId}, ${id}, ${name}, ${selector}, ${path}, ${rolloutId}, ${by ? null : MIN_UUID}, ${targetOf(tx, tx`given`)}, ${columns(tx)}
        from ${fromJson(tx, tx`${JSON.stringify(assignment)}::jsonb`, "given")} returning *),
      audited as (${audit(tx, scope, "assignment-policy.created", facts)})
      select from created`;
    await stampPolicy(tx, stamps, organizationId, id);
    if (by && rolloutId) await startRollout(tx, stamps, scope, { name: name ?? `Policy ${id}`, ...rolloutOf(policy), ...by }, { id: rolloutId, path }, now);
    else await applyFurther(tx, stamps, scope, id);
    return { id, ...(await showPolicy(tx, organizationId, id)) };
  });
}

function rolloutOf({ assignment: { certificateId, enabled: _, ...template } }: Policy) {
  return { certificateId, template };
}
