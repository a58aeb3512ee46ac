import type { Sql } from "../../db/connect";
import { LAST_ID } from "../../db/ids";
import { auditEach, type Scope } from "../audit/queries";

const MAX_KNOWN = 100_000;

/** Organizations are never deleted, so one that was seen once need not be asked for again. */
export function createOrganizationLookup(sql: Sql) {
  const known = new Set<string>();
  return async (id: string) => {
    if (known.has(id)) return true;
    const [found] = await sql`select 1 from organizations where id = ${id}`;
    if (found && known.size < MAX_KNOWN) known.add(id);
    return found !== undefined;
  };
}

type NewOrganization = { id?: string; name: string; seatLimit?: number | null | undefined };

export async function createOrganization(sql: Sql, { id = Bun.randomUUIDv7(), name, seatLimit = null }: NewOrganization, by: Omit<Scope, "organizationId">) {
  const [row] = await sql`
    with created as (
      insert into organizations (id, name, seat_limit) values (${id}, ${name}, ${seatLimit})
      on conflict do nothing returning id, name, seat_limit, created_at),
    audited as (${auditEach(sql, { ...by, organizationId: id }, "organization.created", "organization", sql`select id, jsonb_build_object('name', name) from created`)})
    select ${organizationJson(sql)} as organization from created`;
  return row?.organization as string | undefined;
}

/** Newest first; answers one more than `limit`, so that the caller sees whether a next page exists. */
export async function listOrganizations(sql: Sql, { limit, before }: { limit: number; before: string | undefined }) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${organizationJson(sql)} as json from organizations
    where id < ${before ?? LAST_ID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

const organizationJson = (sql: Sql) => sql`json_build_object('id', id, 'name', name, 'seatLimit', seat_limit, 'createdAt', iso(created_at))::text`;
