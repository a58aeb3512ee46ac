import type { Facts, Stamp, Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { heldSentence } from "#modules/fleet/assignments/rules";
import { audit, type Scope } from "#modules/people/audit/queries";

type StampedRollout = { facts: Record<string, unknown>; stamp: Stamp };

/** The stamped facts of a rollout: all that decides its contents, places, progress and end. */
export const rolloutFacts = (facts: StampedRollout["facts"]): Facts => ["rollout", facts];

export const rolloutJson = (sql: Sql) => sql`json_build_object('organizationId', organization_id, 'id', id, 'certificateId', certificate_id,
  'predecessorId', predecessor_id, 'assignment', assignment, 'rings', rings, 'openRing', open_ring, 'haltShare', halt_share, 'successShare', success_share,
  'status', status, 'retireShare', retire_share, 'holdSeconds', hold_seconds, 'reachedAt', iso(reached_at))`;

/** Locks the rollout. Returns why it goes no further, where its stamp does not hold; which is audited once. */
export async function whyUnproven(tx: Sql, stamps: Stamps, { organizationId, requestId }: Scope, id: string) {
  const [row] = await tx<
    StampedRollout[]
  >`select ${rolloutJson(tx)} as facts, stamp from rollouts where organization_id = ${organizationId} and id = ${id} for update`;
  if (!row || stamps.hold(row.stamp, rolloutFacts(row.facts))) return;
  await tx`
    with held as (
      update rollouts set held_since = now() where organization_id = ${organizationId} and id = ${id} and held_since is null returning id),
    audited as (${audit(tx, { organizationId, actor: { type: "server" }, requestId }, "rollout.held", tx`select id, '{}'::jsonb from held`)})
    select from held`;
  return heldSentence("rollout", id);
}

/** Stamps the rollout as this transaction has written it: it has the row's lock. */
export async function stampRollout(tx: Sql, stamps: Stamps, organizationId: string, id: string) {
  const [row] = await tx<StampedRollout[]>`select ${rolloutJson(tx)} as facts from rollouts where organization_id = ${organizationId} and id = ${id}`;
  if (row)
    await tx`update rollouts set held_since = null, stamp = ${stamps.of(rolloutFacts(row.facts))}::bytea where organization_id = ${organizationId} and id = ${id}`;
}
