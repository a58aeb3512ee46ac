import { randomBytes } from "node:crypto";
import type { Keyring } from "#crypto/keyring";
import { sha256 } from "#crypto/sha256";
import type { Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import type { PageBefore } from "#db/page";
import { audit, type Scope } from "#modules/people/audit/queries";

/** How many may be live at once: each is tried on a signature. */
const MAX_LIVE = 10;

/** The context that a sealed key is bound to: it opens in no other organization and for no other row. */
const context = (organizationId: string, id: string) => `ingest-key ${organizationId} ${id}`;

/** Makes a key, and returns it with its text, this once; `conflict` when the organization has as many live keys as it may. */
export async function createIngestKey(sql: Pool, keyring: Keyring, scope: Scope, name: string) {
  const { organizationId } = scope;
  const id = Bun.randomUUIDv7();
  const key = `whsec_${randomBytes(32).toString("base64")}`;
  const sealed = keyring.seal(key, context(organizationId, id)).toString("hex");
  const row = await sql.begin(async (tx) => {
    await lockOrganization(tx, organizationId);
    const [created] = await tx<{ createdAt: string }[]>`
      with created as (
        insert into ingest_keys (organization_id, id, name, key_hash, sealed_key)
        select ${organizationId}, ${id}, ${name}, decode(${sha256(key)}, 'hex'), decode(${sealed}, 'hex')
        where (select count(*) from ingest_keys where organization_id = ${organizationId} and revoked_at is null) < ${MAX_LIVE}
        returning id, name, created_at),
      audited as (${audit(tx, scope, "ingest-key.created", sql`select id, jsonb_build_object('name', name) from created`)})
      select iso(created_at) as "createdAt" from created`;
    return created;
  });
  return row ? { id, name, createdAt: row.createdAt, key } : "conflict";
}

/** Live ones, newest first; one more than `limit`. */
export async function listIngestKeys(sql: Sql, organizationId: string, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, json_build_object('id', id, 'name', name, 'createdAt', iso(created_at))::text as json from ingest_keys
    where organization_id = ${organizationId} and revoked_at is null and id < ${before ?? MAX_UUID}
    order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function revokeIngestKey(sql: Sql, scope: Scope, id: string) {
  const rows = await sql`
    with revoked as (
      update ingest_keys set revoked_at = now() where organization_id = ${scope.organizationId} and id = ${id} and revoked_at is null returning id, name),
    audited as (${audit(sql, scope, "ingest-key.revoked", sql`select id, jsonb_build_object('name', name) from revoked`)})
    select id from revoked`;
  return rows.length > 0 ? "done" : "not found";
}

/** The live key that a bearer sends, and its owner. */
export async function findKeyOwner(sql: Sql, key: string) {
  const [row] = await sql<{ id: string; organizationId: string }[]>`
    select id, organization_id as "organizationId" from ingest_keys where key_hash = decode(${sha256(key)}, 'hex') and revoked_at is null`;
  return row;
}

/** The live keys of an organization, opened, to check a signature with. */
export async function openIngestKeys(sql: Sql, keyring: Keyring, organizationId: string) {
  const rows = await sql<{ id: string; sealed: string }[]>`
    select id, encode(sealed_key, 'hex') as sealed from ingest_keys where organization_id = ${organizationId} and revoked_at is null`;
  return rows.map(({ id, sealed }) => ({ id, key: keyring.unseal(Buffer.from(sealed, "hex"), context(organizationId, id)) }));
}

/** True for an organization that has no live key yet. */
export async function hasNoKey(sql: Sql, organizationId: string) {
  const [row] = await sql`
    select from organizations where id = ${organizationId}
      and not exists (select from ingest_keys where organization_id = ${organizationId} and revoked_at is null)`;
  return row !== undefined;
}
