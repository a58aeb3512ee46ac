import type { Fragment, Sql } from "#db/connect";

/** The fields that a caller sets, each with its column and type. Statements list these columns from here alone. */
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
/** The fields that decide the place of an assignment in a store. */
export const PLACE: readonly Field[] = ["certificateId", "trustStoreType", "materialType", "config"];
/** The fields that decide what a host does, now or at a rotation (autoRenew). No agent and no job reads the others. */
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

/** Sets each column to that of the row `alias`. */
export const setAll = once((alias: string) => write((_, column) => `${column} = ${alias}.${column}`));

/** Sets each column to the value of its field. */
export const setValues = (sql: Sql, { config, ...values }: { [name in Exclude<Field, "config">]: string | boolean } & { config: object }) =>
  FIELDS.map((field) => {
    const [column, type] = COLUMNS[field];
    return sql`${sql.text(column)} = ${field === "config" ? JSON.stringify(config) : values[field]}::${sql.text(type)}`;
  }).reduce((all, each) => sql`${all}, ${each}`);

const fields = once(() => write((field, column) => `"${field}" as ${column}`));
const definition = once(() => write((field, _, type) => `"${field}" ${type}`));

/** The row `alias` with the columns in place of the fields of a JSON object; null for what it lacks. */
export const fromJson = (sql: Sql, json: Fragment, alias: string) =>
  sql`(select ${fields(sql)} from jsonb_to_record(${json}) as given(${definition(sql)})) as ${sql.text(alias)}`;

/** Rows of orders in JSON, each with its target and stamp, with columns in place of fields. */
export const fromOrders = (sql: Sql, orders: readonly object[], alias: string) =>
  sql`(select "agentId" as agent_id, id, "policyId" as policy_id, target, stamp, ${fields(sql)}
    from jsonb_to_recordset(${JSON.stringify(orders)}::jsonb) as given("agentId" uuid, id uuid, "policyId" uuid, target text, stamp bytea, ${definition(sql)})) as ${sql.text(alias)}`;
