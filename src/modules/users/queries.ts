import type { Sql } from "../../db/connect";

type Identity = { userId: string; email: string | null; name: string | null };

/** The first token of a user makes the row; later ones keep the e-mail address current. */
export async function saveUser(sql: Sql, { userId, email, name }: Identity) {
  await sql`
    insert into users (id, email, display_name, full_name) values (${userId}, ${email}, ${name}, ${name})
    on conflict (id) do update set email = excluded.email where excluded.email is not null and users.email is distinct from excluded.email`;
}

export async function updateProfile(sql: Sql, userId: string, { displayName, fullName }: { displayName?: string; fullName?: string }) {
  await sql`
    update users set display_name = coalesce(${displayName ?? null}, display_name), full_name = coalesce(${fullName ?? null}, full_name), updated_at = now()
    where id = ${userId}`;
}

/** The user's own profile and the organizations they belong to, as JSON. */
export async function findMe(sql: Sql, userId: string, isConfiguredAdmin: boolean) {
  const [row] = await sql<{ me: string }[]>`
    select json_build_object('id', u.id, 'email', email, 'displayName', display_name, 'fullName', full_name,
      'platformAdmin', platform_admin or ${isConfiguredAdmin}, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at),
      'memberships', (
        select coalesce(json_agg(json_build_object('organizationId', o.id, 'organizationName', o.name, 'role', m.role) order by o.id), '[]')
        from members m join organizations o on o.id = m.organization_id where m.user_id = u.id and m.status = 'active'))::text as me
    from users u where u.id = ${userId}`;
  return row?.me;
}

export async function isPlatformAdmin(sql: Sql, userId: string) {
  const [row] = await sql`select platform_admin from users where id = ${userId}`;
  return row?.platform_admin === true;
}

/** Grants or takes away platform administration; false when there is no such user. */
export async function grantPlatformAdmin(sql: Sql, userId: string, granted: boolean) {
  const rows = await sql`update users set platform_admin = ${granted}, updated_at = now() where id = ${userId} returning id`;
  return rows.length > 0;
}
