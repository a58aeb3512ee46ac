import type { Deps } from "#deps";
import { listActive, reconcileRollout } from "#modules/fleet/rollouts/queries/reconcile";
import type { Scope } from "#modules/people/audit/queries";
import { EACH_MINUTE, type QueuedJob, type Work } from "./queue";

export const reconciling: QueuedJob = { name: "advance-rollouts", schedule: EACH_MINUTE, options: { retryLimit: 0, expireInSeconds: 600 } };

/** Does what is due in every rollout and rotation. Where one fails, the others go on. */
export const reconcileRollouts =
  (deps: Pick<Deps, "sql" | "stamps" | "clock">): Work<object> =>
  async (_, signal) => {
    const failures: unknown[] = [];
    for (const { organizationId, id } of await listActive(deps.sql)) {
      const scope: Scope = { organizationId, actor: { type: "server" }, requestId: null };
      await reconcileRollout(deps.sql, deps.stamps, scope, id, deps.clock(), signal).catch((error) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} rollouts could not be brought up to date; the next try is in a minute`);
  };
