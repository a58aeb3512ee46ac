import type { Sql } from "#db/connect";

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
type Field = keyof typeof COLUMNS;

const FIELDS = Object.keys(COLUMNS) as Field[];
function write(each: (field: Field, column: string, type: string) => string, without: readonly Field[] = []) {
  const wanted = FIELDS.filter((field) => !without.includes(field));
  return wanted.map((field) => each(field, COLUMNS[field][0], COLUMNS[field][1])).join(", ");
}

const definition = write((field, _, type) => `"${field}" ${type}`);

/** Lists the columns, of the row `alias` if it is given, but those `without`. */
export const columns = (sql: Sql, alias?: string, without?: readonly Field[]) =>
  sql.unsafe(write((_, column) => (alias ? `${alias}.${column}` : column), without));

/** Pairs of field and value, for json_build_object and its like. */
export const pairs = (sql: Sql, alias: string, without?: readonly Field[]) => sql.unsafe(write((field, column) => `'${field}', ${alias}.${column}`, without));

/** Sets each column to that of the row `alias`. */
export const setAll = (sql: Sql, alias: string) => sql.unsafe(write((_, column) => `${column} = ${alias}.${column}`));

/** The row `alias` with the columns in place of the fields of a JSON object; null for what it lacks. */
export const fromJson = (sql: Sql, json: ReturnType<Sql>, alias: string) =>
  sql`(select ${sql.unsafe(write((field, column) => `"${field}" as ${column}`))} from jsonb_to_record(${json}) as given(${sql.unsafe(definition)})) as ${sql.unsafe(alias)}`;

/** Each column of `sent` or, where that is null, of `stored`; the config is another's matter. */
export const coalesced = (sql: Sql, sent: string, stored: string) =>
  sql.unsafe(write((_, column) => `coalesce(${sent}.${column}, ${stored}.${column}) as ${column}`, ["config"]));
