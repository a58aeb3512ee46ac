import type { Fragment } from "postgres";
import type { Sql } from "../../db/connect";
import type { Progress } from "./rules";

/** What a rollout is about: `r` itself, its steps `s`, and the predecessor's assignment, `source`, of each. */
export const steps = (sql: Sql) => sql`rollouts r, rollout_steps s
  left join assignments source on (source.organization_id, source.agent_id, source.id) = (s.organization_id, s.agent_id, s.source_id)`;

/** True where `a` is the assignment of a step of this rollout. */
export const isStepOf = (sql: Sql, organizationId: string, id: Fragment) => sql`r.organization_id = ${organizationId} and r.id = ${id}
  and (s.organization_id, s.rollout_id) = (r.organization_id, r.id) and (a.organization_id, a.agent_id, a.id) = (s.organization_id, s.agent_id, s.assignment_id)`;

/**
 * The beginning of a statement that asks how far a rollout is: in each `ring` that has agents, and in all, `progress`. In an open ring
 * an assignment counts while it is enabled and of the certificate; in one that waits, if it will be enabled. A failure from before the
 * assignment's last change, or before the rollout was resumed, is none.
 */
export const withProgress = (sql: Sql, organizationId: string, id: Fragment) => sql`
  with place as (
    select s.ring, s.agent_id, coalesce(source.enabled and source.certificate_id = r.predecessor_id, false) as is_old,
      case when s.ring > r.open_ring then coalesce(source.enabled, s.source_id is null) else a.enabled and a.certificate_id = r.certificate_id end as counts,
      coalesce(a.reported_state in ('installed', 'drifted') and a.reported_fingerprint = c.fingerprint_sha256, false) as observed,
      coalesce(s.ring <= r.open_ring and a.reported_state = 'failed' and a.reported_at > greatest(a.updated_at, r.resumed_at), false) as failed
    from ${steps(sql)}, assignments a, certificates c
    where ${isStepOf(sql, organizationId, id)} and (c.organization_id, c.id) = (r.organization_id, r.certificate_id)),
  agent as (
    select ring, bool_and(observed) as observed, bool_or(failed) as failed, count(*) as places, count(*) filter (where observed) as places_observed,
      count(*) filter (where failed) as places_failed, count(*) filter (where is_old) as places_old
    from place where counts group by ring, agent_id),
  ring as (
    select ring, count(*)::int as agents, count(*) filter (where observed)::int as observed, count(*) filter (where failed)::int as failed,
      sum(places) as places, sum(places_observed) as places_observed, sum(places_failed) as places_failed, sum(places_old) as places_old
    from agent group by ring),
  progress as (
    select r.*, c.status = 'active' as is_active, coalesce(old.status <> 'active', false) as is_replaced, coalesce(old.retired_at, old.revoked_at) as replaced_at,
      left_alone, (places + left_alone)::int as total, places_observed::int as observed, places_failed::int as failed
    from rollouts r
    join certificates c on (c.organization_id, c.id) = (r.organization_id, r.certificate_id)
    left join certificates old on (old.organization_id, old.id) = (r.organization_id, r.predecessor_id)
    cross join (
      select coalesce(sum(places), 0) as places, coalesce(sum(places_observed), 0) as places_observed, coalesce(sum(places_failed), 0) as places_failed,
        coalesce(sum(places_old), 0) as places_old from ring) as sums
    cross join lateral (
      select case when r.predecessor_id is null then r.skipped else (
        select count(*) - places_old from assignments o
        where o.organization_id = r.organization_id and o.certificate_id = r.predecessor_id and o.enabled)::int end as left_alone) as others
    where r.organization_id = ${organizationId} and r.id = ${id})`;

/** All that decides how it goes on. */
export async function readProgress(sql: Sql, organizationId: string, id: string, now: Date) {
  const [progress] = await sql<(Progress & { predecessorId: string | null })[]>`
    ${withProgress(sql, organizationId, sql`${id}`)}
    select status, open_ring as "openRing", halt_share as "haltShare", success_share as "successShare", is_active as "isActive", predecessor_id as "predecessorId",
      (select coalesce(json_agg(json_build_object('ring', ring, 'agents', agents, 'observed', observed, 'failed', failed) order by ring), '[]') from ring) as counts,
      case when predecessor_id is not null then json_build_object('isReplaced', is_replaced, 'retireShare', retire_share, 'isReached', reached_at is not null,
        'isHeld', reached_at <= ${now.toISOString()}::timestamptz - make_interval(secs => hold_seconds), 'total', total, 'observed', observed) end as rotation
    from progress`;
  return progress;
}
