import type { Pool, Sql } from "#db/connect";
import { lockOrganization } from "#db/locks";
import type { Resource } from "#db/outcome";
import { type Versions, whereVersion } from "#db/versions";
import { audit, type Scope } from "#modules/people/audit/queries";
import { DEFAULT_POLICY, type IssuancePolicy } from "../rules/policy";

const facts = (
  sql: Sql,
) => sql`jsonb_build_object('allowedDomains', allowed_domains, 'allowedAddresses', allowed_addresses, 'allowedKeyAlgorithms', allowed_key_algorithms,
  'allowedKeyLocations', allowed_key_locations, 'needsApproval', needs_approval)`;
const policyJson = (sql: Sql) =>
  sql`(${facts(sql)} || jsonb_build_object('organizationId', organization_id, 'version', version, 'updatedAt', iso(updated_at)))::text`;

const columns = (sql: Sql) => sql.text("allowed_domains, allowed_addresses, allowed_key_algorithms, allowed_key_locations, needs_approval");
const listOf = (list: string[] | null) => list && JSON.stringify(list);
const valuesOf = (sql: Sql, policy: IssuancePolicy) => sql`${listOf(policy.allowedDomains)}::text::jsonb, ${listOf(policy.allowedAddresses)}::text::jsonb,
  ${listOf(policy.allowedKeyAlgorithms)}::text::jsonb, ${listOf(policy.allowedKeyLocations)}::text::jsonb, ${policy.needsApproval}::boolean`;

/** The policy of an organization, or the default, at version 0. */
const policyOf = (sql: Sql, organizationId: string) => sql`
  select organization_id, ${columns(sql)}, version, updated_at from issuance_policies where organization_id = ${organizationId}
  union all
  select ${organizationId}::uuid, ${valuesOf(sql, DEFAULT_POLICY)}, 0, null where not exists (select from issuance_policies where organization_id = ${organizationId})`;

export async function findIssuancePolicy(sql: Sql, organizationId: string) {
  const [row] = await sql<Resource[]>`select ${policyJson(sql)} as json, version from (${policyOf(sql, organizationId)}) as policy`;
  return row;
}

/** Puts a policy in the place of the one that is there. It counts for requests that are made from now on. */
export const putIssuancePolicy = (pool: Pool, scope: Scope, policy: IssuancePolicy, versions: Versions) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    await lockOrganization(tx, organizationId);
    const [row] = await tx<(Resource & { isAccepted: boolean })[]>`
      with current as materialized (select policy.*, ${whereVersion(tx, versions)} as is_accepted from (${policyOf(tx, organizationId)}) as policy),
      given (${columns(tx)}) as (select ${valuesOf(tx, policy)}),
      changed as (
        insert into issuance_policies (organization_id, ${columns(tx)}, version)
        select organization_id, given.*, version + 1 from current, given where is_accepted and (select ${facts(tx)} from current) <> (select ${facts(tx)} from given)
        on conflict (organization_id) do update set allowed_domains = excluded.allowed_domains, allowed_addresses = excluded.allowed_addresses,
          allowed_key_algorithms = excluded.allowed_key_algorithms, allowed_key_locations = excluded.allowed_key_locations, needs_approval = excluded.needs_approval,
          version = excluded.version, updated_at = now()
        returning *),
      audited as (${audit(
        tx,
        scope,
        "issuance-policy.updated",
        tx`select organization_id, jsonb_build_object('from', (select ${facts(tx)} from current), 'to', ${facts(tx)}) from changed`,
      )})
      select is_accepted as "isAccepted", coalesce((select ${policyJson(tx)} from changed), ${policyJson(tx)}) as json,
        coalesce((select version from changed), version) as version from current`;
    return row?.isAccepted ? row : ("stale" as const);
  });
