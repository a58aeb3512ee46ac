import type { Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import type { IdentifiedResource, Target } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { whereVersion } from "#db/versions";
import { type Act, audit, auditForPlatform } from "#modules/people/audit/queries";
import { holdsSeat, settleSeats } from "#modules/people/members/queries/seats";

const MAX_KNOWN = 100_000;

/** Organizations are never deleted, so one that was seen once need not be asked for again. */
export function createOrganizationLookup(sql: Sql) {
  const known = new Set<string>();
  async function exists(id: string) {
    if (known.has(id)) return true;
    const [found] = await sql`select 1 from organizations where id = ${id}`;
    if (found && known.size < MAX_KNOWN) known.add(id);
    return found !== undefined;
  }
  return { exists, isKnown: (id: string) => known.has(id) };
}

/** The columns that every answer shows, as json text; `from` names what they come from. */
const organizationJson = (sql: Sql, from = sql`organizations`) => sql`json_build_object('id', ${from}.id, 'name', ${from}.name, 'seatLimit', ${from}.seat_limit,
  'seatsTaken', (select count(*)::int from members where members.organization_id = ${from}.id and ${holdsSeat(sql)}),
  'version', ${from}.version, 'createdAt', iso(${from}.created_at))::text`;

type NewOrganization = { id?: string; name: string; seatLimit?: number | null | undefined };

/** Returns undefined when there is an organization with this id already. */
export async function createOrganization(sql: Sql, { id = Bun.randomUUIDv7(), name, seatLimit = null }: NewOrganization, by: Act) {
  const named = sql`select id, jsonb_build_object('name', name) from created`;
  const [row] = await sql<IdentifiedResource[]>`
    with created as (
      insert into organizations (id, name, seat_limit) values (${id}, ${name}, ${seatLimit}) on conflict do nothing returning *),
    audited as (${audit(sql, { ...by, organizationId: id }, "organization.created", named)}),
    audited_for_platform as (${auditForPlatform(sql, by, "organization.created", named)})
    select id, version, ${organizationJson(sql, sql`created`)} as json from created`;
  return row;
}

/** Newest first; answers one more than `limit`, so that the caller sees whether a next page exists. */
export async function listOrganizations(sql: Sql, { limit, before }: PageBefore) {
  const rows = await sql<IdentifiedResource[]>`
    select id, ${organizationJson(sql)} as json from organizations
    where id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findOrganization(sql: Sql, id: string) {
  const [row] = await sql<IdentifiedResource[]>`select id, version, ${organizationJson(sql)} as json from organizations where id = ${id}`;
  return row;
}

type Patch = { name?: string | undefined; seatLimit?: number | null | undefined; isByStaff: boolean };

/** Changes the named fields alone; the same values keep the version. The staff's changes are in the platform's trail too. */
export const updateOrganization = (pool: Pool, by: Act, target: Target, patch: Patch) =>
  pool.begin(async (tx) => {
    const outcome = await writeOrganization(tx, by, target, patch);
    if (patch.seatLimit !== undefined && typeof outcome === "object") await settleSeats(tx, target.id);
    return outcome;
  });

async function writeOrganization(sql: Sql, by: Act, { id, versions }: Target, { name, seatLimit, isByStaff }: Patch) {
  const scope = { ...by, organizationId: id };
  const difference = sql`select changed.id, ${changeOf(sql)} from changed, current`;
  const [row] = await sql<(IdentifiedResource & { isAccepted: boolean })[]>`
    -- locks the organization; holds its new values
    with current as (
      select *, ${whereVersion(sql, versions)} as is_accepted, coalesce(${name ?? null}, name) as new_name,
        case when ${seatLimit !== undefined} then ${seatLimit ?? null}::int else seat_limit end as new_limit
      from organizations where id = ${id} for no key update),
    -- writes the change, when there is one and the version matches
    changed as (
      update organizations set name = new_name, seat_limit = new_limit, version = current.version + 1 from current
      where organizations.id = current.id and is_accepted and (current.name, current.seat_limit) is distinct from (new_name, new_limit) returning organizations.*),
    -- the audit event of the organization
    audited as (${audit(sql, scope, "organization.updated", difference)}),
    -- the audit event of the platform, for changes by staff
    audited_for_platform as (${auditForPlatform(sql, scope, "organization.updated", sql`${difference} where ${isByStaff}`)})
    select is_accepted as "isAccepted", id, coalesce((select version from changed), version) as version,
      coalesce((select ${organizationJson(sql, sql`changed`)} from changed), ${organizationJson(sql, sql`current`)}) as json from current`;
  if (!row) return "not found";
  return row.isAccepted ? row : "stale";
}

const changeOf = (sql: Sql) => sql`jsonb_build_object('from', jsonb_build_object('name', current.name, 'seatLimit', current.seat_limit),
  'to', jsonb_build_object('name', changed.name, 'seatLimit', changed.seat_limit))`;
