import type { Fragment, Sql } from "#db/connect";
import type { CompiledRing } from "../rules";
import { assignmentAt, isAnchor, isSuited } from "./apply-steps";
import { assignRings } from "./assign-rings";
import { theRollout } from "./progress";

/**
 * Adds a step for each of the predecessor's assignments that has none and suits the successor; returns true if there were any.
 * At the start they are divided among `rings`, later they join the last.
 */
export async function planRotation(tx: Sql, organizationId: string, id: string, rings?: CompiledRing[]) {
  const assigned: Fragment = rings ? assignRings(tx, tx`due`, rings) : tx`select item, last_ring as ring from due as item`;
  const [planned] = await tx<{ any: boolean }[]>`
    -- assignments of the predecessor that have no step yet
    with known as materialized (
      select o.agent_id, o.id as source_id, o.enabled, jsonb_array_length(r.rings) as last_ring,
        ${isSuited(tx)} and not o.key_on_host and (${isAnchor(tx)} or not exists (${assignmentAt(tx, tx`o`, tx`(r.certificate_id, o.trust_store_type, o.target)`)})) as is_suited
      from ${theRollout(tx, organizationId, tx`${id}`)}
      cross join lateral (select * from assignments where organization_id = r.organization_id and certificate_id = r.predecessor_id offset 0) as o
      where r.status = 'running' and not exists (
        select from rollout_steps s
        where (s.organization_id, s.rollout_id, s.agent_id, s.source_id) = (r.organization_id, r.id, o.agent_id, o.id) offset 0)),
    -- those that the successor suits, with the labels of their agents
    due as (
      select known.*, labels from known
      cross join lateral (select labels from agents where agents.organization_id = ${organizationId} and agents.id = known.agent_id offset 0) as agent
      where is_suited),
    -- adds a step for each of them
    planned as (
      insert into rollout_steps (organization_id, rollout_id, agent_id, id, source_id, ring)
      select ${organizationId}, ${id}, (item).agent_id, (item).source_id, (item).source_id, ring from (${assigned}) as assigned),
    -- stores how many enabled assignments the successor does not suit
    counted as (
      update rollouts r set skipped = left_alone from (select count(*) as left_alone from known where enabled and not is_suited) as others
      where r.organization_id = ${organizationId} and r.id = ${id} and r.status = 'running' and r.predecessor_id is not null and r.skipped <> left_alone)
    select exists (select from known where is_suited) as any`;
  return planned?.any === true;
}
