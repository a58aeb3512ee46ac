import { lockName } from "./locks";
import type { Sql } from "./sql";

/** Tables whose rows have names that are unique in their organization, and what one of them is called. */
const THINGS = { connections: "connection", issuers: "issuer" };
export type Named = keyof typeof THINGS;

/** Serializes requests that name such a thing in the organization, so that a name that is seen free stays free. */
export const lockNames = (sql: Sql, table: Named, organizationId: string) => lockName(sql, `${table} ${organizationId}`);

/** True of the rows that have this name. Names that differ only in case or Unicode form are one: their `name_key` is the same. */
export const hasName = (sql: Sql, name: string) => sql`(name_key = name_key(${name}) or name = ${name})`;

/** Says which thing has the name that another was to get. */
export async function describeTaken(sql: Sql, table: Named, { organizationId, id, name }: { organizationId: string; id: string; name: string }) {
  const [row] = await sql<{ name: string }[]>`
    select name from ${sql.text(table)} where organization_id = ${organizationId} and id <> ${id} and ${hasName(sql, name)} order by id limit 1`;
  return `body.name is taken: another ${THINGS[table]} is named "${row?.name ?? name}".`;
}
