import type { Stamps } from "#crypto/stamps";
import { arrayOf, type Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { targetOf } from "#modules/fleet/assignments/queries/place";
import { audit, type Scope } from "#modules/people/audit/queries";
import { isAnchor, isSuited, renamedConfig } from "./apply-steps";
import { stampPolicy, standingPolicies } from "./policy-stamps";
import { theRollout } from "./progress";

/**
 * Continues policies after a completed rollout: its own policy goes through all agents, and policies of a rotated certificate
 * take the successor. One whose stamp does not hold stays as it is.
 */
export async function followRollout(tx: Sql, stamps: Stamps, scope: Scope, rolloutId: string) {
  const { organizationId } = scope;
  const standing = await standingPolicies(tx, stamps, scope);
  await tx`update assignment_policies set applied_up_to = ${MIN_UUID} where organization_id = ${organizationId} and rollout_id = ${rolloutId}`;
  const changes = tx`select id, jsonb_build_object('rolloutId', ${rolloutId}::text, 'changes', jsonb_build_object('certificateId', jsonb_build_object('from', old, 'to', new))) from moved`;
  const moved = await tx<{ id: string }[]>`
    with due as (
      select o.id, r.predecessor_id as old, r.certificate_id as new, case when ${isAnchor(tx)} then ${renamedConfig(tx)} else o.config end as config
      from ${theRollout(tx, organizationId, tx`${rolloutId}`)}
      join assignment_policies o on o.organization_id = r.organization_id and o.certificate_id = r.predecessor_id
      where o.id = any(${arrayOf(standing)}::uuid[]) and o.deleted_at is null and ${isSuited(tx)}),
    moved as (
      update assignment_policies p set certificate_id = due.new, config = due.config, target = ${targetOf(tx, tx`p`, tx`due.config`)}, applied_up_to = ${MIN_UUID},
        version = p.version + 1, updated_at = now()
      from due where p.organization_id = ${organizationId} and p.id = due.id returning p.id, due.old, due.new),
    audited as (${audit(tx, scope, "assignment-policy.updated", changes)})
    select id from moved`;
  for (const { id } of moved) await stampPolicy(tx, stamps, organizationId, id);
}
