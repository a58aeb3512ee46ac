import type { Fragment } from "postgres";
import type { Sql } from "../../db/connect";
import { targetOf } from "../assignments/queries";
import { auditEach, type Scope } from "../audit/queries";
import { bring, isRenewed } from "../rollouts/bring";
import { deal } from "../rollouts/deal";
import type { CompiledRing } from "../rollouts/rules";

/** Several of these lie in a store at once; any other kind takes the place of the one before. */
export const isAnchor = (sql: Sql, assignment: Fragment) => sql`${assignment}.material_type in ('trust_anchor', 'intermediate_ca')`;

/** The config of `o` for the successor `c`, under names that the two do not share; no name is over 200 characters. */
const besides = (sql: Sql) => sql`o.config || jsonb_strip_nulls(jsonb_build_object(
  'alias', right(o.config->>'alias' || '-' || left(c.fingerprint_sha256, 8), 200),
  'certFileName', right(regexp_replace(o.config->>'certFileName', '(\\.[^.]*)?$', '-' || left(c.fingerprint_sha256, 8) || '\\1'), 200)))`;

/**
 * Takes into a rotation what the predecessor has and the rotation does not know yet: beside an anchor comes its like for the successor,
 * and any other assignment changes its certificate. What the successor is not fit for is left alone. Without `rings`, that is later
 * than at the start, all join the last ring.
 */
export async function gather(tx: Sql, scope: Scope, id: string, rings?: CompiledRing[]) {
  const [gathered] = await tx<{ changing: number }[]>`
    with due as materialized (
      select o.agent_id, agents.labels, o.id as source_id, is_anchor, there.id as there_id, r.certificate_id, o.application_id, o.trust_store_type, o.material_type,
        o.include_private_key, copy.config, copy.target, o.auto_renew, o.enabled, r.open_ring, jsonb_array_length(r.rings) as last_ring
      from rollouts r
      join certificates c on (c.organization_id, c.id) = (r.organization_id, r.certificate_id)
      join assignments o on (o.organization_id, o.certificate_id) = (r.organization_id, r.predecessor_id)
      join agents on (agents.organization_id, agents.id) = (o.organization_id, o.agent_id)
      cross join lateral (select ${isAnchor(tx, tx`o`)} as is_anchor) as kind
      cross join lateral (select config, ${targetOf(tx, tx`config`)} as target from (
        select case when is_anchor then ${besides(tx)} else o.config end as config) as named) as copy
      left join assignments there on (there.organization_id, there.agent_id, there.certificate_id, there.trust_store_type, there.target)
        = (o.organization_id, o.agent_id, r.certificate_id, o.trust_store_type, copy.target)
      where r.organization_id = ${scope.organizationId} and r.id = ${id} and r.status = 'running'
        and case when is_anchor then c.is_ca or c.self_signed else there.id is null and ${isRenewed(tx, tx`o`)} end
        and (not o.include_private_key or c.sealed_private_key is not null)
        and not exists (
          select from rollout_steps s where (s.organization_id, s.rollout_id, s.agent_id, s.source_id) = (r.organization_id, r.id, o.agent_id, o.id))
      order by o.agent_id, o.id for key share of agents),
    dealt as (${rings ? deal(tx, tx`due`, rings) : tx`select item, last_ring as ring from due as item`}),
    wanted as materialized (
      select *, is_anchor and there_id is null as is_made, case when is_anchor then coalesce(there_id, new_id()) else source_id end as assignment_id
      from (select ring, (item).* from dealt) as each),
    made as (
      insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
        config, target, auto_renew, enabled)
      select ${scope.organizationId}, assignment_id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key,
        config, target, auto_renew, enabled and ring <= open_ring
      from wanted where is_made on conflict do nothing returning *),
    stepped as (
      insert into rollout_steps (organization_id, rollout_id, agent_id, assignment_id, source_id, ring, is_made)
      select ${scope.organizationId}, ${id}, agent_id, assignment_id, source_id, ring, is_made from wanted on conflict do nothing),
    audited as (${auditEach(
      tx,
      scope,
      "assignment.created",
      "assignment",
      tx`
      select id, jsonb_build_object('rolloutId', ${id}::text, 'agentId', agent_id, 'certificateId', certificate_id, 'trustStoreType', trust_store_type) from made`,
    )})
    select count(*) filter (where not is_anchor)::int as changing from wanted`;
  if (gathered && gathered.changing > 0) await bring(tx, scope, id, tx`not s.is_made and s.ring <= r.open_ring`);
}
