import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import type { Resource } from "#db/outcome";
import { type Versions, whereVersion } from "#db/versions";
import { audit, type Scope } from "#modules/people/audit/queries";
import { compileOverrides, DEFAULT_POLICY, type ExpiryPolicy } from "../rules";

/** The overrides as they were given: without the predicates of their selectors. */
const given = (sql: Sql) => sql`(
  select coalesce(jsonb_agg(override - 'path' order by place), '[]') from jsonb_array_elements(overrides) with ordinality as each (override, place))`;

const policyJson = (sql: Sql) => sql`json_build_object('organizationId', organization_id, 'thresholds', thresholds, 'overrides', ${given(sql)}, 'role', role,
  'version', version, 'updatedAt', iso(updated_at))::text`;

/** The policy of an organization, or the defaults, at version 0. */
const policyOf = (sql: Sql, organizationId: string) => sql`
  select organization_id, thresholds, overrides, role, version, updated_at from expiry_policies where organization_id = ${organizationId}
  union all
  select ${organizationId}::uuid, ${JSON.stringify(DEFAULT_POLICY.thresholds)}::jsonb, ${JSON.stringify(DEFAULT_POLICY.overrides)}::jsonb, ${DEFAULT_POLICY.role}::member_role, 0, null
  where not exists (select from expiry_policies where organization_id = ${organizationId})`;

export async function findExpiryPolicy(sql: Sql, organizationId: string) {
  const [row] = await sql<Resource[]>`select ${policyJson(sql)} as json, version from (${policyOf(sql, organizationId)}) as policy`;
  return row;
}

/** Puts a policy in the place of the one that is there. Every certificate of the organization is judged by it within a minute. */
export function putExpiryPolicy(pool: Pool, scope: Scope, policy: ExpiryPolicy, versions: Versions) {
  return pool.begin(async (tx) => {
    await lockOrganization(tx, scope.organizationId);
    return replacePolicy(tx, scope, policy, versions);
  });
}

async function replacePolicy(sql: Sql, scope: Scope, { thresholds, overrides, role }: ExpiryPolicy, versions: Versions) {
  const { organizationId } = scope;
  const facts = sql`jsonb_build_object('thresholds', thresholds, 'overrides', ${given(sql)}, 'role', role)`;
  const [row] = await sql<(Resource & { isAccepted: boolean })[]>`
    with current as materialized (select policy.*, ${whereVersion(sql, versions)} as is_accepted from (${policyOf(sql, organizationId)}) as policy),
    given as (
      select ${JSON.stringify(thresholds)}::jsonb as thresholds, ${JSON.stringify(compileOverrides(overrides))}::jsonb as overrides, ${role}::member_role as role),
    changed as (
      insert into expiry_policies (organization_id, thresholds, overrides, role, version)
      select organization_id, given.thresholds, given.overrides, given.role, version + 1 from current, given
      where is_accepted and (current.thresholds, current.overrides, current.role) is distinct from (given.thresholds, given.overrides, given.role)
      on conflict (organization_id) do update set thresholds = excluded.thresholds, overrides = excluded.overrides, role = excluded.role,
        version = excluded.version, updated_at = now()
      returning *),
    reviewed as (
      insert into expiry_reviews select organization_id, ${MIN_UUID} from changed on conflict (organization_id) do update set reviewed_up_to = excluded.reviewed_up_to),
    audited as (${audit(sql, scope, "expiry-policy.updated", sql`select organization_id, jsonb_build_object('from', (select ${facts} from current), 'to', ${facts}) from changed`)})
    select is_accepted as "isAccepted", coalesce((select ${policyJson(sql)} from changed), ${policyJson(sql)}) as json,
      coalesce((select version from changed), version) as version from current`;
  return row?.isAccepted ? row : ("stale" as const);
}
