import type { Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import type { PageBefore } from "#db/page";
import { isOutlived } from "#modules/certificates/expiry/queries/watch";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { Expiry } from "./rules";

/** Links that an organization may have. */
const MAX_LINKS = 100;
const DAYS = 400;
/** Certificates that are read for one calendar, and events that it has at most. */
const LOOKED_AT = "10000";
const SHOWN = "5000";

const linkJson = (sql: Sql) =>
  sql`json_build_object('id', id, 'organizationId', organization_id, 'name', name, 'createdBy', created_by, 'createdAt', iso(created_at))::text`;

/** Stores a link. Returns `conflict` when the organization has as many as it may; its row lock decides between concurrent requests. */
export function createCalendarLink(sql: Pool, scope: Scope, { name, keyHash }: { name: string; keyHash: string }) {
  const { organizationId, actor } = scope;
  return sql.begin(async (tx) => {
    await lockOrganization(tx, organizationId);
    const [row] = await tx<{ json: string; id: string }[]>`
      with created as (
        insert into calendar_links (organization_id, id, name, secret_hash, created_by)
        select ${organizationId}, new_id(), ${name}, decode(${keyHash}, 'hex'), ${JSON.stringify(actor)}::jsonb
        where (select count(*) from calendar_links where organization_id = ${organizationId}) < ${MAX_LINKS} returning *),
      audited as (${audit(tx, scope, "calendar-link.created", tx`select id, jsonb_build_object('name', name) from created`)})
      select id, ${linkJson(tx)} as json from created`;
    return row ?? ("conflict" as const);
  });
}

/** Newest first; one more than `limit`. */
export async function listCalendarLinks(sql: Sql, organizationId: string, { limit, before }: PageBefore) {
  const rows = await sql<{ json: string; id: string }[]>`
    select id, ${linkJson(sql)} as json from calendar_links
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** Deletes a link: it is refused from now on, on every server. */
export async function revokeCalendarLink(sql: Sql, scope: Scope, id: string) {
  const [row] = await sql`
    with deleted as (delete from calendar_links where organization_id = ${scope.organizationId} and id = ${id} returning *),
    audited as (${audit(sql, scope, "calendar-link.revoked", sql`select id, jsonb_build_object('name', name) from deleted`)})
    select 1 from deleted`;
  return row ? ("done" as const) : ("not found" as const);
}

/** The name of the organization, where the key is one of its links'. */
export async function findLinkedOrganization(sql: Sql, organizationId: string, keyHash: string) {
  const [row] = await sql<{ name: string }[]>`
    select name from organizations where id = ${organizationId} and exists (
      select from calendar_links where organization_id = ${organizationId} and secret_hash = decode(${keyHash}, 'hex'))`;
  return row?.name;
}

/**
 * The first of the active certificates that expire within 400 days and are not renewed. Each is looked up on the watch by its
 * id (OFFSET 0).
 */
export const listExpiries = (sql: Sql, organizationId: string, now: Date) => {
  const at = now.toISOString();
  return sql<Expiry[]>`
    select id, common_name as "commonName", issuer, iso(not_after) as "notAfter", iso(updated_at) as "updatedAt"
    from (
      select organization_id, id, common_name, issuer, not_after, updated_at from certificates
      where organization_id = ${organizationId} and status = 'active' and not_after > ${at} and not_after <= ${at}::timestamptz + ${sql.text(`interval '${DAYS} days'`)}
      order by not_after, id limit ${sql.text(LOOKED_AT)}) as first
    where not exists (
        select from (
          select organization_id, certificate_id, names_hash, not_after from expiry_watch
          where organization_id = first.organization_id and certificate_id = first.id offset 0) as w
        where ${isOutlived(sql, at)})
      and not exists (select from rollouts r where r.organization_id = first.organization_id and r.predecessor_id = first.id and r.status = 'completed')
    order by not_after, id limit ${sql.text(SHOWN)}`;
};
