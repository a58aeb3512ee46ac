import type { Fragment, Sql } from "#db/connect";
import type { ConfigField } from "../schema/assignments";

/** The place of `row` in its store, if this is its config: a function of the database, because migrations and triggers ask for it too. */
export const targetOf = (sql: Sql, row: Fragment, config = sql`${row}.config`) => sql`target_of(${row}.trust_store_type, ${row}.material_type, ${config})`;

/**
 * SQL condition: the assignment or policy `holder` has the place of `row`, so that one overwrites the other on a host, or has
 * its certificate there already.
 */
export const hasPlaceOf = (sql: Sql, holder: Fragment, row: Fragment) => sql`
  ${holder}.trust_store_type = ${row}.trust_store_type and ((${holder}.certificate_id, ${holder}.target) = (${row}.certificate_id, ${row}.target)
    or place_of(${holder}.trust_store_type, ${holder}.material_type, ${holder}.certificate_id, ${holder}.config)
      = place_of(${row}.trust_store_type, ${row}.material_type, ${row}.certificate_id, ${row}.config))`;

/** The fields of a config that `target_of` and `place_of` do not read. */
export const BESIDE_PLACE = [
  "storePasswordRef",
  "reloadCommand",
  "verifyEndpoint",
  "verifyServerName",
  "verifyStartTls",
  "autoRenew",
  "removeOnRevoke",
  "useOpensslCa",
  "nodeFlags",
  "preferOsStore",
  "gatewayMode",
  "keyPermissionMode",
  "keyDirectory",
  "fileOwner",
  "fileGroup",
] satisfies ConfigField[];
const STAYING = new Set(["applicationId", "includePrivateKey", "autoRenew", "enabled", ...BESIDE_PLACE.map((field) => `config.${field}`)]);

/** Returns true where a change of these facts may give an assignment another place. */
export const moves = (changes: object) => Object.keys(changes).some((name) => !STAYING.has(name));

/** SQL condition: what `place_of` reads differs between two rows. One that keeps all of it keeps its place. */
export const differsInPlace = (sql: Sql, one: Fragment, other: Fragment) => sql`
  (${one}.trust_store_type, ${one}.material_type, ${one}.certificate_id, ${one}.config)
    <> (${other}.trust_store_type, ${other}.material_type, ${other}.certificate_id, ${other}.config)`;

/**
 * The policy that has the place of `row` on the locked `agent`, or null; the assignment `except` does not count. It is a
 * database function, to see what was written while the statement waited.
 */
export const policyAt = (sql: Sql, organizationId: string, row: Fragment, except: Fragment) => sql`(
  select policy_at(${organizationId}, agent.id, ${except}, ${row}.trust_store_type, ${row}.material_type, ${row}.certificate_id, ${targetOf(sql, row)}, ${row}.config)
  from agent where has_policies(agent.organization_id))`;
