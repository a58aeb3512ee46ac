import type { Fragment, Sql } from "#db/connect";

/** What a caller says of an assignment: each field of the JSON with its column and type. Statements list these columns from here alone. */
const COLUMNS = {
  applicationId: ["application_id", "text"],
  certificateId: ["certificate_id", "uuid"],
  trustStoreType: ["trust_store_type", "text"],
  materialType: ["material_type", "text"],
  includePrivateKey: ["include_private_key", "boolean"],
  config: ["config", "jsonb"],
  autoRenew: ["auto_renew", "boolean"],
  enabled: ["enabled", "boolean"],
} as const;
export type Field = keyof typeof COLUMNS;

const FIELDS = Object.keys(COLUMNS) as Field[];
/** What decides the place of an assignment in a store, and what does not. */
export const PLACE: readonly Field[] = ["certificateId", "trustStoreType", "materialType", "config"];
export const BESIDE_PLACE = FIELDS.filter((field) => !PLACE.includes(field));
/** What decides what a host does, now or at a rotation (autoRenew). No agent and no job reads the rest. */
export const ORDERED = FIELDS.filter((field) => field !== "applicationId");

function write(each: (field: Field, column: string, type: string) => string, without: readonly Field[] = []) {
  const wanted = FIELDS.filter((field) => !without.includes(field));
  return wanted.map((field) => each(field, COLUMNS[field][0], COLUMNS[field][1])).join(", ");
}

/** Requests ask for the same few texts again and again: each is written once. */
function once<Arguments extends unknown[]>(write: (...given: Arguments) => string) {
  const written = new Map<string, string>();
  return (sql: Sql, ...given: Arguments) => sql.text(written.getOrInsertComputed(String(given), () => write(...given)));
}

/** Lists the columns, of the row `alias` if it is given, but those `without`. */
export const columns = once((alias?: string, without?: readonly Field[]) => write((_, column) => (alias ? `${alias}.${column}` : column), without));

/** Pairs of field and value, for json_build_object and its like. */
export const pairs = once((alias: string, without?: readonly Field[]) => write((field, column) => `'${field}', ${alias}.${column}`, without));

/** Pairs of field and its old and new value, null where that is the same; of rows that became others. */
export const changes = once((before: string, after: string, without: readonly Field[]) =>
  write(
    (field, column) =>
      `'${field}', case when ${before}.${column} <> ${after}.${column} then jsonb_build_object('from', ${before}.${column}, 'to', ${after}.${column}) end`,
    without,
  ),
);

/** Sets each column to that of the row `alias`, but those `without`. */
export const setAll = once((alias: string, without?: readonly Field[]) => write((_, column) => `${column} = ${alias}.${column}`, without));

/** Each column of `sent` or, where that is null, of `stored`, but those `without`. */
export const coalesced = once((sent: string, stored: string, without: readonly Field[]) =>
  write((_, column) => `coalesce(${sent}.${column}, ${stored}.${column}) as ${column}`, without),
);

const fields = once(() => write((field, column) => `"${field}" as ${column}`));
const definition = once(() => write((field, _, type) => `"${field}" ${type}`));

/** The row `alias` with the columns in place of the fields of a JSON object; null for what it lacks. */
export const fromJson = (sql: Sql, json: Fragment, alias: string) =>
  sql`(select ${fields(sql)} from jsonb_to_record(${json}) as given(${definition(sql)})) as ${sql.text(alias)}`;

/** Rows of orders in JSON, each with its target and stamp, with columns in place of fields. */
export const fromOrders = (sql: Sql, orders: readonly object[], alias: string) =>
  sql`(select "agentId" as agent_id, id, "policyId" as policy_id, target, stamp, ${fields(sql)}
    from jsonb_to_recordset(${JSON.stringify(orders)}::jsonb) as given("agentId" uuid, id uuid, "policyId" uuid, target text, stamp bytea, ${definition(sql)})) as ${sql.text(alias)}`;
