import type { Deps } from "#deps";
import { listUnsettled, queueFreed, reconcilePolicies } from "#modules/fleet/assignment-policies/queries/reconcile";
import type { Scope } from "#modules/people/audit/queries";

/**
 * Brings the agents of all organizations to what their policies want. Where one organization fails, the others go on; the next turn
 * makes it good.
 */
export async function applyPolicies({ sql, stamps }: Pick<Deps, "sql" | "stamps">, signal: AbortSignal) {
  const failures: unknown[] = [];
  await queueFreed(sql);
  for (const { organizationId } of await listUnsettled(sql)) {
    const scope: Scope = { organizationId, actor: { type: "server" }, requestId: null };
    await reconcilePolicies(sql, stamps, scope, signal).catch((error) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, `the policies of ${failures.length} organizations could not be applied`);
}
