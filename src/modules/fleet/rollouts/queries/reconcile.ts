import type { Stamps } from "#crypto/stamps";
import type { Fragment, Pool, Sql } from "#db/connect";
import { retireCertificate } from "#modules/certificates/certificates/queries/certificates";
import { withFleetLock } from "#modules/fleet/agents/queries/fleet-lock";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";
import { type Event, nextEvent } from "../rules";
import { applySteps } from "./apply-steps";
import { followRollout } from "./follow-rollout";
import { planRotation } from "./plan-rotation";
import { readProgress } from "./progress";
import { revertSteps, settleRollback } from "./revert-steps";
import { stampRollout, whyUnproven } from "./stamps";

/** The rollouts of all organizations that may have something to do. */
export const listActive = (sql: Sql) => sql<{ organizationId: string; id: string }[]>`
  select organization_id as "organizationId", id from rollouts where is_busy order by organization_id, id`;

/**
 * Brings a rollout up to date, in as many transactions as it needs. Several servers may do this at once: the second one finds nothing to
 * do.
 */
export async function reconcileRollout(sql: Pool, stamps: Stamps, scope: Scope, id: string, now: Date, signal: AbortSignal) {
  let isMore = true;
  while (isMore && !signal.aborted)
    isMore = await withFleetLock(sql, scope.organizationId, async (tx) => {
      if (await whyUnproven(tx, stamps, scope, id)) return false;
      if (await revertSteps(tx, stamps, scope, id)) return true;
      await settleRollback(tx, stamps, scope, id);
      return reconcileInTransaction(tx, stamps, scope, id, now);
    });
}

/** Does what is due now, under the fleet's lock. Returns true when the batch was full: there may be more. */
export async function reconcileInTransaction(tx: Sql, stamps: Stamps, scope: Scope, id: string, now: Date): Promise<boolean> {
  const isMore = (await applySteps(tx, stamps, scope, id)) || ((await planRotation(tx, scope.organizationId, id)) && (await applySteps(tx, stamps, scope, id)));
  if (isMore) return true;
  const progress = await readProgress(tx, scope.organizationId, id, now);
  const event = progress && nextEvent(progress);
  if (!event) return false;
  if (event.action === "predecessor-retired") await retireCertificate(tx, stamps, scope, { id: event.predecessorId, versions: undefined }, now);
  else await recordTransition(tx, stamps, scope, id, event, changesOf(tx, event, now));
  if (event.action === "completed") await followRollout(tx, stamps, scope, id);
  return reconcileInTransaction(tx, stamps, scope, id, now);
}

function changesOf(sql: Sql, event: Exclude<Event, { action: "predecessor-retired" }>, now: Date) {
  switch (event.action) {
    case "halted":
      return sql`status = 'halted', is_busy = false, reason = ${event.reason}`;
    case "ring-opened":
      return sql`open_ring = ${event.ring}`;
    case "share-reached":
      return sql`reached_at = ${now.toISOString()}`;
    case "share-lost":
      return sql`reached_at = null`;
    case "completed":
      return sql`status = 'completed', is_busy = false`;
  }
}

type Named = { action: string; [detail: string]: unknown };

/**
 * Changes the rollout's own row, which was read under its lock with a stamp that holds, stamps it, and writes the audit event
 * with the details of the action. Does nothing unless `isChange` holds.
 */
export async function recordTransition(
  tx: Sql,
  stamps: Stamps,
  scope: Scope,
  id: string,
  { action, ...details }: Named,
  changes: Fragment,
  isChange = tx`true`,
) {
  const [changed] = await tx`
    with changed as (
      update rollouts set ${changes}, version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${id} and ${isChange} returning id, name, reason, created_by, certificate_id, predecessor_id),
    recorded as (${recordAction(tx, scope.organizationId, action)}),
    audited as (${audit(tx, scope, `rollout.${action}`, tx`select id, ${JSON.stringify(details)}::jsonb from changed`)})
    select id from changed`;
  if (changed) await stampRollout(tx, stamps, scope.organizationId, id);
}

/**
 * Records the event of a halted or finished rollout for its creator, but not for a renewal's daily one. Every other action ends
 * the halt.
 */
function recordAction(sql: Sql, organizationId: string, action: string) {
  const event = sql`select ${organizationId}::uuid, id, jsonb_build_object('name', name, 'reason', reason), created_by, null::member_role from changed`;
  const isRenewal = sql`exists (select from renewals n where n.organization_id = ${organizationId} and n.certificate_id = predecessor_id and n.successor_id = changed.certificate_id)`;
  if (action === "halted") return recordEvents(sql, "rollout_halted", event);
  if (action === "completed") return recordEvents(sql, "rollout_finished", sql`${event} where not ${isRenewal}`);
  return recordEnds(sql, "rollout_halted", sql`select ${organizationId}::uuid, id from changed where ${action} in ('resumed', 'rolling-back')`);
}
