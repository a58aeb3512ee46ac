import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Resource } from "#db/outcome";
import { type Versions, whereVersion } from "#db/versions";
import { auditForPlatform } from "#modules/people/audit/queries";
import { platformAdminFacts, platformAdminFactsJson, type StampedRow } from "#modules/people/roles/queries";

type Identity = { userId: string; email: string | null; emailVerified?: boolean; name: string | null };

/**
 * The first token of a user makes the row; later ones keep the e-mail address current, and the one that mail goes to, which is
 * verified.
 */
export async function saveUser(sql: Sql, { userId, email, emailVerified = false, name }: Identity) {
  const verified = emailVerified ? email : null;
  await sql`
    insert into users (id, email, verified_email, display_name, full_name) values (${userId}, ${email}, ${verified}, ${name}, ${name})
    on conflict (id) do update set email = coalesce(excluded.email, users.email), verified_email = coalesce(excluded.verified_email, users.verified_email),
      version = users.version + (excluded.email is not null and users.email is distinct from excluded.email)::int
    where (excluded.email is not null and users.email is distinct from excluded.email)
      or (excluded.verified_email is not null and users.verified_email is distinct from excluded.verified_email)`;
}

type Names = { displayName?: string | undefined; fullName?: string | undefined };

/** Returns the version afterwards, the same when nothing changes; `stale` when it was none of `versions`. */
export async function updateProfile(sql: Sql, userId: string, versions: Versions, { displayName, fullName }: Names) {
  const [row] = await sql<{ isAccepted: boolean; version: number }[]>`
    with current as (
      select id, version, ${whereVersion(sql, versions)} as is_accepted, array[display_name, full_name] as names,
        array[coalesce(${displayName ?? null}, display_name), coalesce(${fullName ?? null}, full_name)] as wanted
      from users where id = ${userId} for no key update),
    changed as (
      update users set display_name = wanted[1], full_name = wanted[2], version = current.version + 1, updated_at = now()
      from current where users.id = current.id and is_accepted and wanted is distinct from names returning users.version)
    select is_accepted as "isAccepted", coalesce((select version from changed), version) as version from current`;
  return row?.isAccepted ? row.version : "stale";
}

/** The user's own profile and the organizations they belong to, as JSON. */
export async function findMe(sql: Sql, userId: string, isConfiguredAdmin: boolean) {
  const [row] = await sql<Resource[]>`
    select json_build_object('id', u.id, 'email', email, 'displayName', display_name, 'fullName', full_name,
      'platformAdmin', platform_admin or ${isConfiguredAdmin}, 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at),
      'memberships', (
        select coalesce(json_agg(json_build_object('organizationId', o.id, 'organizationName', o.name, 'role', m.role) order by o.id), '[]')
        from members m join organizations o on o.id = m.organization_id where m.user_id = u.id and m.status = 'active'))::text as json, version
    from users u where u.id = ${userId}`;
  return row;
}

/** A platform admin as the database says, with what its stamp must prove. */
export async function findPlatformAdmin(sql: Sql, userId: string) {
  const [row] = await sql<StampedRow<{ userId: string }>[]>`
    select ${platformAdminFactsJson(sql)} as facts, platform_admin_stamp as stamp, platform_admin_held_since is not null as "isUnproven"
    from users where id = ${userId} and platform_admin`;
  return row;
}

const COMMAND_LINE = { actor: { type: "command-line" as const }, requestId: null };

/**
 * Grants or takes away platform administration, on the command line; false when there is no such user. A grant also ends that
 * one is held.
 */
export async function grantPlatformAdmin(sql: Sql, stamps: Stamps, userId: string, granted: boolean) {
  const stamp = granted ? stamps.of(platformAdminFacts({ userId })) : null;
  const action = granted ? "platform-admin.granted" : "platform-admin.revoked";
  const rows = await sql`
    with changed as (
      update users set platform_admin = ${granted}, platform_admin_stamp = ${stamp}, platform_admin_held_since = null, updated_at = now()
      where id = ${userId} and (platform_admin, platform_admin_stamp) is distinct from (${granted}, ${stamp}::bytea) returning id),
    audited as (${auditForPlatform(sql, COMMAND_LINE, action, sql`select id, '{}'::jsonb from changed`, "user")})
    select id from users where id = ${userId}`;
  return rows.length > 0;
}
