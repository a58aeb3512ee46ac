import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import { type Resource, type Target, updateLocked } from "#db/outcome";
import { audit, type Scope } from "#modules/people/audit/queries";

export type Role = "ORG_ADMIN" | "ORG_MEMBER";

/** The columns that every answer shows, as json text. */
export const memberJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'userId', user_id, 'email', email,
  'firstName', first_name, 'lastName', last_name, 'role', role, 'status', status, 'invitationExpiresAt', iso(invitation_expires_at),
  'invitationMail', invitation_mail, 'invitationMailFailure', invitation_mail_failure, 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

/** The role of an active member, or undefined for anybody else. */
export async function memberRole(sql: Sql, organizationId: string, userId: string) {
  const [member] = await sql<{ role: Role }[]>`
    select role from members where organization_id = ${organizationId} and user_id = ${userId} and status = 'active'`;
  return member?.role;
}

/** Makes a known user an active ORG_ADMIN; someone who is a member already stays as they are. */
export async function addAdmin(sql: Sql, scope: Scope, { userId, email }: { userId: string; email: string }) {
  await sql`
    with added as (
      insert into members (organization_id, id, user_id, email, role, status)
      values (${scope.organizationId}, ${Bun.randomUUIDv7()}, ${userId}, ${email.toLowerCase()}, 'ORG_ADMIN', 'active')
      on conflict do nothing returning id, email)
    ${audit(sql, scope, "member.added", sql`select id, jsonb_build_object('email', email, 'role', 'ORG_ADMIN') from added`)}`;
}

/** Members hold a seat, and invitations until they expire. */
export const holdsSeat = (sql: Sql) => sql`(status = 'active' or invitation_expires_at > clock_timestamp())`;

/** Oldest first; one more than `limit`. */
export async function listMembers(sql: Sql, organizationId: string, { limit, after }: { limit: number; after: string | undefined }) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${memberJson(sql)} as json from members
    where organization_id = ${organizationId} and id > ${after ?? MIN_UUID} order by id limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** `conflict` for the last admin. */
export const changeRole = (sql: Pool, scope: Scope, target: Target, role: Role) =>
  changeMember(sql, scope, target, role === "ORG_MEMBER", async (tx, current) => {
    if (current.role === role) return current;
    const [row] = await tx<Resource[]>`
      with changed as (
        update members set role = ${role}, version = version + 1, updated_at = now() where organization_id = ${scope.organizationId} and id = ${target.id} returning *),
      audited as (${audit(tx, scope, "member.role-changed", tx`select id, jsonb_build_object('from', ${current.role}::text, 'to', role) from changed`)})
      select ${memberJson(tx)} as json, version from changed`;
    return row;
  });

/** `conflict` for the last admin. */
export const removeMember = (sql: Pool, scope: Scope, target: Target) =>
  changeMember(sql, scope, target, true, async (tx) => {
    await tx`
      with removed as (delete from members where organization_id = ${scope.organizationId} and id = ${target.id} returning id, email, invitation_mail_id),
      withdrawn as (delete from mails using removed where mails.id = invitation_mail_id)
      ${audit(tx, scope, "member.removed", tx`select id, jsonb_build_object('email', email) from removed`)}`;
    return "done" as const;
  });

type Current = Resource & { role: Role; isLastAdmin: boolean };
type Change<Outcome> = (tx: Sql, current: Current) => Promise<Outcome>;

const changeMember = <Outcome>(sql: Pool, { organizationId }: Scope, { id, versions }: Target, takesAdminAway: boolean, change: Change<Outcome>) =>
  sql.begin(async (tx) =>
    updateLocked(await lockMember(tx, organizationId, id), versions, async (current) =>
      takesAdminAway && current.isLastAdmin ? ("conflict" as const) : change(tx, current),
    ),
  );

/** Under the organization's row lock, so that two admins who leave at once do not both count on the other. */
async function lockMember(tx: Sql, organizationId: string, id: string) {
  await lockOrganization(tx, organizationId);
  const [current] = await tx<Current[]>`
    select ${memberJson(tx)} as json, version, role, role = 'ORG_ADMIN' and status = 'active' and not exists (
      select from members other where other.organization_id = ${organizationId} and other.id <> ${id} and other.role = 'ORG_ADMIN' and other.status = 'active') as "isLastAdmin"
    from members where organization_id = ${organizationId} and id = ${id}`;
  return current;
}
