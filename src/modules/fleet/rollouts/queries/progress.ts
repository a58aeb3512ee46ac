import type { Fragment, Sql } from "#db/connect";
import type { Progress } from "../rules";

/**
 * The rollout `r` with its certificate's facts. Where statistics are missing Postgres picks nested full scans; OFFSET 0 and IS
 * NOT DISTINCT FROM in these statements confine it to the one agent's rows.
 */
export const theRollout = (sql: Sql, organizationId: string, id: Fragment) => sql`(
  select r.*, c.fingerprint_sha256, c.status = 'active' as is_active, c.is_ca or c.self_signed as is_authority, c.sealed_private_key is not null as has_key,
    p.id as policy_id, p.selector_path
  from rollouts r join certificates c on (c.organization_id, c.id) = (r.organization_id, r.certificate_id)
  left join assignment_policies p on (p.organization_id, p.rollout_id) = (r.organization_id, r.id)
  where r.organization_id = ${organizationId} and r.id = ${id} offset 0) as r`;

/** SQL condition: the assignment from which the step `s` of the rollout `r` starts is enabled and still has the predecessor. */
const isHeldByPredecessor = (sql: Sql) => sql`exists (
  select from assignments source where (source.organization_id, source.agent_id) = (s.organization_id, s.agent_id) and source.enabled
    and (source.id, source.certificate_id) is not distinct from (s.source_id, r.predecessor_id) offset 0)`;

/**
 * The beginning of a statement about a rollout's progress: `ring` has a row for each ring with steps, `progress` the totals. A
 * failure counts if newer than the assignment's change and the last resume.
 */
export const withProgress = (sql: Sql, organizationId: string, id: Fragment) => sql`
  -- each step: whether it counts, was observed, failed or is skipped
  with place as (
    select s.ring, s.agent_id, s.assignment_id is not null and case when s.source_id is null then not s.is_made
        else (a.enabled and a.certificate_id = r.certificate_id) is not true and ${isHeldByPredecessor(sql)} end as is_skipped,
      case when s.assignment_id is not null then a.enabled and a.certificate_id = r.certificate_id
        when s.source_id is not null then a.enabled and a.certificate_id = r.predecessor_id
        else exists (select from agents where agents.organization_id = s.organization_id and agents.id = s.agent_id offset 0) end as counts,
      s.assignment_id is not null and a.reported_state in ('installed', 'drifted') and a.reported_fingerprint = r.fingerprint_sha256 as observed,
      s.assignment_id is not null and a.reported_state in ('failed', 'refused') and a.reported_at > greatest(a.updated_at, r.resumed_at) as failed
    from ${theRollout(sql, organizationId, id)}
    cross join lateral (select * from rollout_steps where organization_id = r.organization_id and rollout_id = r.id offset 0) as s
    left join lateral (
      select * from assignments
      where (organization_id, agent_id) = (s.organization_id, s.agent_id) and id is not distinct from coalesce(s.assignment_id, s.source_id) offset 0) as a on true),
  -- the same, summed for each agent of a ring
  agent as (
    select ring, count(*) filter (where counts) as places, count(*) filter (where counts and observed) as observed, count(*) filter (where counts and failed) as failed,
      count(*) filter (where is_skipped) as skipped
    from place group by ring, agent_id),
  -- the same, summed for each ring
  ring as (
    select ring, count(*) filter (where places > 0)::int as agents, count(*) filter (where places > 0 and observed = places)::int as observed,
      count(*) filter (where failed > 0)::int as failed, sum(places) as places, sum(observed) as places_observed, sum(failed) as places_failed, sum(skipped) as skipped
    from agent group by ring),
  -- the rollout, with the totals of all rings
  progress as materialized (
    select r.*, coalesce(old.status <> 'active', false) as is_replaced, coalesce(old.retired_at, old.revoked_at) as replaced_at,
      r.skipped + others as left_alone, places + r.skipped + others as total, observed, failed
    from ${theRollout(sql, organizationId, id)}
    left join certificates old on (old.organization_id, old.id) = (r.organization_id, r.predecessor_id)
    cross join (
      select coalesce(sum(places), 0)::int as places, coalesce(sum(places_observed), 0)::int as observed, coalesce(sum(places_failed), 0)::int as failed,
        coalesce(sum(skipped), 0)::int as others from ring) as sums)`;

/** Returns the facts from which the next change of the rollout's status is decided. */
export async function readProgress(sql: Sql, organizationId: string, id: string, now: Date) {
  const [progress] = await sql<Progress[]>`
    ${withProgress(sql, organizationId, sql`${id}`)}
    select status, open_ring as "openRing", halt_share as "haltShare", success_share as "successShare", is_active as "isActive",
      (select coalesce(json_agg(json_build_object('ring', ring, 'agents', agents, 'observed', observed, 'failed', failed) order by ring), '[]') from ring) as counts,
      case when predecessor_id is not null then json_build_object('predecessorId', predecessor_id, 'isReplaced', is_replaced, 'retireShare', retire_share,
        'isReached', reached_at is not null, 'isHeld', reached_at <= ${now.toISOString()}::timestamptz - make_interval(secs => hold_seconds), 'total', total, 'observed', observed) end as rotation
    from progress`;
  return progress;
}
