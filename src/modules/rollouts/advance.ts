import type { Fragment } from "postgres";
import type { Pool, Sql } from "../../db/connect";
import { changeFleet } from "../agents/fleet";
import { auditEach, type Scope } from "../audit/queries";
import { retireCertificate } from "../certificates/queries";
import { gather } from "../rotations/gather";
import { bring } from "./bring";
import { readProgress } from "./progress";
import { nextStep, type Step } from "./rules";

/** The rollouts of all organizations that may have something to do. */
export const listRunning = (sql: Sql) => sql<{ organizationId: string; id: string }[]>`
  select organization_id as "organizationId", id from rollouts where status = 'running' order by organization_id, id`;

/** Brings a rollout up to date. Any number of servers may do so at once: who comes second finds nothing to do. */
export const updateRollout = (sql: Pool, scope: Scope, id: string, now: Date) =>
  changeFleet(sql, scope.organizationId, async (tx) => {
    await gather(tx, scope, id);
    await advance(tx, scope, id, now);
  });

/** Does all that is due, one step after the other, under the fleet's lock. */
export async function advance(tx: Sql, scope: Scope, id: string, now: Date) {
  for (;;) {
    const progress = await readProgress(tx, scope.organizationId, id, now);
    const step = progress && nextStep(progress);
    if (!step) return;
    await take(tx, scope, { id, predecessorId: progress.predecessorId }, step, now);
  }
}

type Target = { id: string; predecessorId: string | null };

async function take(tx: Sql, scope: Scope, { id, predecessorId }: Target, step: Step, now: Date) {
  switch (step.action) {
    case "halted":
      return changeRollout(tx, scope, id, step, tx`status = 'halted', reason = ${step.reason}`);
    case "ring-opened":
      await changeRollout(tx, scope, id, step, tx`open_ring = ${step.ring}`);
      return bring(tx, scope, id, tx`s.ring = ${step.ring}`);
    case "share-reached":
      return changeRollout(tx, scope, id, step, tx`reached_at = ${now.toISOString()}`);
    case "share-lost":
      return changeRollout(tx, scope, id, step, tx`reached_at = null`);
    case "predecessor-retired":
      return predecessorId && retireCertificate(tx, scope, { id: predecessorId, version: undefined }, now);
    case "completed":
      return changeRollout(tx, scope, id, step, tx`status = 'completed'`);
  }
}

type Named = { action: string; [detail: string]: unknown };

/** One change of the rollout itself, unless it is none; what an action says besides its name goes into the audit trail. */
export async function changeRollout(tx: Sql, scope: Scope, id: string, { action, ...details }: Named, changes: Fragment, isChange = tx`true`) {
  await tx`
    with changed as (
      update rollouts set ${changes}, version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${id} and ${isChange} returning id),
    audited as (${auditEach(tx, scope, `rollout.${action}`, "rollout", tx`select id, ${JSON.stringify(details)}::jsonb from changed`)})
    select from changed`;
}
