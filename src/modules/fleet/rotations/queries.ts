import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Resource, Target } from "#db/outcome";
import { withFleetLock } from "#modules/fleet/agents/queries/fleet-lock";
import type { Ineligible } from "#modules/fleet/assignments/rules";
import { isAnchor, isRenewed } from "#modules/fleet/rollouts/queries/apply-steps";
import { planRotation } from "#modules/fleet/rollouts/queries/plan-rotation";
import { withProgress } from "#modules/fleet/rollouts/queries/progress";
import { reconcileInTransaction, recordTransition } from "#modules/fleet/rollouts/queries/reconcile";
import { rollBack, transition } from "#modules/fleet/rollouts/queries/rollouts";
import { stampRollout } from "#modules/fleet/rollouts/queries/stamps";
import { askedOf, type CompiledRing } from "#modules/fleet/rollouts/rules";
import { audit, type Scope, userOf } from "#modules/people/audit/queries";
import type { Retirement } from "./schema";

/** The newest of a certificate's rotations; at most one of them was not cancelled. */
const newestOf = (sql: Sql, organizationId: string, certificateId: string) => sql`(
  select newest.id from rollouts newest where newest.organization_id = ${organizationId} and newest.predecessor_id = ${certificateId} order by newest.id desc limit 1)`;

export async function findRotation(sql: Sql, organizationId: string, certificateId: string) {
  const [row] = await sql<Resource[]>`
    ${withProgress(sql, organizationId, newestOf(sql, organizationId, certificateId))}
    select version, json_build_object('id', id, 'organizationId', organization_id, 'certificateId', predecessor_id, 'successorId', certificate_id,
      'status', case when status in ('rolling_back', 'rolled_back') then 'cancelled' when is_replaced then 'retired' when status = 'halted' then 'halted' else 'overlapping' end,
      'total', total, 'observed', observed, 'failed', failed, 'skipped', left_alone, 'share', round(observed::numeric / nullif(total, 0), 4),
      'retire', case when retire_share is not null then json_build_object('share', retire_share, 'holdSeconds', hold_seconds) end,
      'reachedAt', iso(reached_at), 'retiredAt', iso(replaced_at), 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text as json
    from progress`;
  return row;
}

export type Unsuited = Exclude<Ineligible, "no certificate"> | "itself" | "circle";
type NewRotation = {
  certificateId: string;
  successorId: string;
  rings: CompiledRing[];
  retire: Retirement | undefined;
  /** Null: failures do not halt it. */
  haltShare: number | null;
  successShare: number;
  /** True when the certificate may be revoked already. */
  mayBeRevoked?: boolean;
};

/** `conflict` when the certificate is not active or has a rotation already that was not cancelled. */
export function startRotation(
  sql: Pool,
  stamps: Stamps,
  scope: Scope,
  given: NewRotation,
  now: Date,
): Promise<Resource | Unsuited | "no certificate" | "conflict"> {
  const { organizationId } = scope;
  const { certificateId, successorId, rings, retire } = given;
  const id = Bun.randomUUIDv7();
  return withFleetLock(sql, organizationId, async (tx) => {
    const created = tx`select id, jsonb_build_object('name', name, 'certificateId', certificate_id, 'predecessorId', predecessor_id) from made`;
    const [judged] = await tx<{ fault: Unsuited | "no certificate" | null; isMade: boolean }[]>`
      -- the successor, its successor, and so on
      with recursive successors as (
        select ${successorId}::uuid as id
        union
        select r.certificate_id from successors join rollouts r on r.organization_id = ${organizationId} and r.predecessor_id = successors.id and r.status not in ('rolling_back', 'rolled_back')),
      -- the reason to reject the rotation or null
      judged as (
        select old.common_name, old.status, case
          when old.id is null or c.id is null then 'no certificate'
          when c.id = old.id then 'itself'
          when c.status <> 'active' or c.not_after <= ${now.toISOString()} then 'not active'
          when exists (select from successors where successors.id = old.id) then 'circle'
          when not (c.is_ca or c.self_signed) and exists (
            select from assignments o where o.organization_id = ${organizationId} and o.certificate_id = old.id and ${isAnchor(tx)}) then 'no authority'
          when c.sealed_private_key is null and exists (
            select from assignments o where o.organization_id = ${organizationId} and o.certificate_id = old.id
              and o.include_private_key and (${isAnchor(tx)} or ${isRenewed(tx)})) then 'no key' end as fault
        from (values (1)) as one
        left join certificates old on old.organization_id = ${organizationId} and old.id = ${certificateId}
        left join certificates c on c.organization_id = ${organizationId} and c.id = ${successorId}),
      -- adds the rotation, unless it is rejected or there is one already
      made as (
        insert into rollouts (organization_id, id, name, certificate_id, predecessor_id, rings, halt_share, success_share, retire_share, hold_seconds, created_by)
        select ${organizationId}, ${id}, 'Rotation of ' || common_name, ${successorId}, ${certificateId}, ${askedOf(rings)}::jsonb, ${given.haltShare}, ${given.successShare},
          ${retire?.share ?? null}, ${retire?.holdSeconds ?? null}, ${userOf(scope)}
        from judged where fault is null and (status = 'active' or status = 'revoked' and ${given.mayBeRevoked ?? false}) on conflict do nothing returning *),
      -- the audit event of the rotation
      audited as (${audit(tx, scope, "rollout.created", created)})
      select fault, exists (select from made) as "isMade" from judged`;
    if (judged?.fault) return judged.fault;
    if (!judged?.isMade) return "conflict";
    await stampRollout(tx, stamps, organizationId, id);
    await planRotation(tx, organizationId, id, rings);
    await reconcileInTransaction(tx, stamps, scope, id, now);
    return (await findRotation(tx, organizationId, certificateId)) ?? "conflict";
  });
}

/** Changes when the predecessor `id` is retired; a new share restarts the hold time. Returns `conflict` once the rotation is over. */
export async function changeRetirement(sql: Pool, stamps: Stamps, scope: Scope, { id: certificateId, versions }: Target, retire: Retirement | null) {
  const id = await newestId(sql, scope, certificateId);
  const { share, holdSeconds } = retire ?? { share: null, holdSeconds: null };
  const outcome = await transition(sql, stamps, scope, { id, versions }, sql`r.status not in ('rolling_back', 'rolled_back') and old.status = 'active'`, (tx) =>
    recordTransition(
      tx,
      stamps,
      scope,
      id,
      { action: "retirement-changed", retire },
      tx`retire_share = ${share}, hold_seconds = ${holdSeconds}, reached_at = case when retire_share = ${share} then reached_at end`,
      tx`(retire_share, hold_seconds) is distinct from (${share}::float8, ${holdSeconds}::int)`,
    ),
  );
  return typeof outcome === "string" || "inTheWay" in outcome ? outcome : findRotation(sql, scope.organizationId, certificateId);
}

/** Rolls the newest rotation of the certificate `id` back. */
export async function cancelRotation(sql: Pool, stamps: Stamps, scope: Scope, { id, versions }: Target) {
  const outcome = await rollBack(sql, stamps, scope, { id: await newestId(sql, scope, id), versions });
  return typeof outcome === "string" || "inTheWay" in outcome ? outcome : "done";
}

async function newestId(sql: Sql, { organizationId }: Scope, certificateId: string) {
  const [row] = await sql<{ id: string | null }[]>`select ${newestOf(sql, organizationId, certificateId)} as id`;
  return row?.id ?? MIN_UUID;
}
