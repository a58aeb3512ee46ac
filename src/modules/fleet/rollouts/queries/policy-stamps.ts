import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import { arrayOf, type Sql } from "#db/connect";
import { pairs } from "#modules/fleet/assignments/queries/columns";
import { targetOf } from "#modules/fleet/assignments/queries/place";
import { heldSentence } from "#modules/fleet/assignments/rules";
import { audit, type Scope } from "#modules/people/audit/queries";
import { rolloutFacts, rolloutJson } from "./stamps";

type StampedPolicy = { id: string; facts: Record<string, unknown>; stamp: Stamp };

/**
 * The stamped facts of a policy: its agents, its assignment, its deletion. A target that follows from the config is stamped as
 * path and alias alone, so that stamps outlive migrations of targets.
 */
export const policyFacts = (facts: StampedPolicy["facts"]): Facts => ["policy", facts];

export const policyFactsJson = (sql: Sql) => sql`json_build_object('organizationId', organization_id, 'id', id, 'selector', selector,
  'selectorPath', selector_path, ${pairs(sql, "p")},
  'target', case target when ${targetOf(sql, sql`p`)} then jsonb_build_array(coalesce(config->>'trustStorePath', config->>'keychainPath'), config->>'alias')::text end,
  'rolloutId', rollout_id, 'isDeleted', deleted_at is not null)`;

/**
 * Locks the policies, or one, and returns the ids of those whose stamps hold, with their rollouts' and rotations' stamps: rows
 * written by others neither give nor take assignments.
 */
export async function standingPolicies(tx: Sql, stamps: Stamps, scope: Scope, id?: string) {
  const { organizationId } = scope;
  const policies = await tx<StampedPolicy[]>`
    select id, ${policyFactsJson(tx)} as facts, stamp from assignment_policies p
    where organization_id = ${organizationId} ${id === undefined ? tx`` : tx`and id = ${id}`} for update`;
  const rollouts = await tx<StampedPolicy[]>`
    select id, ${rolloutJson(tx)} as facts, stamp from rollouts
    where organization_id = ${organizationId} and (predecessor_id is not null or id in (select rollout_id from assignment_policies where organization_id = ${organizationId}))
    for update`;
  const held = rollouts.filter((row) => !stamps.hold(row.stamp, rolloutFacts(row.facts)));
  const stands = (row: StampedPolicy) =>
    stamps.hold(row.stamp, policyFacts(row.facts)) && !held.some(({ id, facts }) => id === row.facts.rolloutId || followers(row).has(facts.predecessorId));

  /** Its certificate, and what followed that. */
  function followers({ facts }: StampedPolicy) {
    const found = new Set([facts.certificateId]);
    for (const each of found) for (const { facts } of rollouts) if (facts.predecessorId === each) found.add(facts.certificateId);
    return found;
  }
  const { true: standing = [], false: others = [] } = Object.groupBy(policies, (row) => `${stands(row)}`);
  if (others.length > 0) await auditUnproven(tx, scope, others);
  return standing.map((row) => row.id);
}

/** Marks policies as unproven, with one audit event each. */
const auditUnproven = (tx: Sql, { organizationId, requestId }: Scope, policies: StampedPolicy[]) => tx`
  with held as (
    update assignment_policies set held_since = now()
    where organization_id = ${organizationId} and id = any(${arrayOf(policies.map((row) => row.id))}::uuid[]) and held_since is null returning id),
  audited as (${audit(tx, { organizationId, actor: { type: "server" }, requestId }, "assignment-policy.held", tx`select id, '{}'::jsonb from held`)})
  select from held`;

/** Returns why the policy is not changed, where its stamp does not hold. */
export async function whyUnproven(tx: Sql, stamps: Stamps, scope: Scope, id: string) {
  const standing = await standingPolicies(tx, stamps, scope, id);
  if (!standing.includes(id)) return heldSentence("policy", id);
}

/** Stamps the policy as this transaction has written it: it has the row's lock. */
export async function stampPolicy(tx: Sql, stamps: Stamps, organizationId: string, id: string) {
  const [row] = await tx<
    StampedPolicy[]
  >`select ${policyFactsJson(tx)} as facts from assignment_policies p where organization_id = ${organizationId} and id = ${id}`;
  if (row)
    await tx`update assignment_policies set held_since = null, stamp = ${stamps.of(policyFacts(row.facts))}::bytea where organization_id = ${organizationId} and id = ${id}`;
}
