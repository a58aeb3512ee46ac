import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import { type Resource, type Target, updateLocked } from "#db/outcome";
import type { PageAfter } from "#db/page";
import { awaitDispatch } from "#modules/notifications/events/queries/lock";
import { withdrawNotices } from "#modules/notifications/inbox/queries";
import { audit, type Scope } from "#modules/people/audit/queries";
import { type MemberFacts, memberFacts, memberFactsJson, type Role, type StampedRow } from "#modules/people/roles/queries";
import { settleSeats } from "./seats";

/** The columns that every answer shows, as json text. */
export const memberJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'userId', user_id, 'email', email,
  'firstName', first_name, 'lastName', last_name, 'role', role, 'status', status, 'invitationExpiresAt', iso(invitation_expires_at),
  'invitationMail', invitation_mail, 'invitationMailFailure', invitation_mail_failure, 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

export const given = (sql: Sql) => sql`${memberFactsJson(sql)} as facts, stamp, held_since is not null as "isUnproven"`;

/** An active member, with what its stamp must prove; undefined for another user. */
export async function findMember(sql: Sql, organizationId: string, userId: string) {
  const [member] = await sql<StampedRow<MemberFacts>[]>`
    select ${given(sql)} from members where organization_id = ${organizationId} and user_id = ${userId} and status = 'active'`;
  return member;
}

/** Makes a known user an active ORG_ADMIN; someone who is a member already stays as they are. */
export async function addAdmin(sql: Sql, stamps: Stamps, { organizationId, ...by }: Scope, user: { userId: string; email: string }) {
  const [id, email] = [Bun.randomUUIDv7(), user.email.toLowerCase()];
  const stamp = stamps.of(memberFacts({ organizationId, id, userId: user.userId, email, role: "ORG_ADMIN", status: "active" }));
  await sql`
    with added as (
      insert into members (organization_id, id, user_id, email, role, status, stamp)
      values (${organizationId}, ${id}, ${user.userId}, ${email}, 'ORG_ADMIN', 'active', ${stamp})
      on conflict do nothing returning id, email)
    ${audit(sql, { ...by, organizationId }, "member.added", sql`select id, jsonb_build_object('email', email, 'role', 'ORG_ADMIN') from added`)}`;
}

/** Oldest first; one more than `limit`. */
export async function listMembers(sql: Sql, organizationId: string, { limit, after }: PageAfter) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${memberJson(sql)} as json from members
    where organization_id = ${organizationId} and id > ${after ?? MIN_UUID} order by id limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** `conflict` for the last admin, and for a member whom nothing proves to be who was let in: that one is made no admin. */
export const changeRole = (sql: Pool, stamps: Stamps, scope: Scope, target: Target, role: Role) =>
  changeMember(sql, scope, target, role === "ORG_MEMBER", async (tx, current) => {
    if (current.role === role) return current;
    const isProven = stamps.hold(current.stamp, memberFacts(current.facts));
    if (role === "ORG_ADMIN" && !isProven) return "conflict";
    const stamp = isProven ? stamps.of(memberFacts({ ...current.facts, role })) : null;
    const [row] = await tx<Resource[]>`
      with changed as (
        update members set role = ${role}, stamp = ${stamp}, version = version + 1, updated_at = now() where organization_id = ${scope.organizationId} and id = ${target.id} returning *),
      audited as (${audit(tx, scope, "member.role-changed", tx`select id, jsonb_build_object('from', ${current.role}::text, 'to', role) from changed`)})
      select ${memberJson(tx)} as json, version from changed`;
    return row;
  });

/** `conflict` for the last admin. The notices of the organization go with the membership. */
export const removeMember = (sql: Pool, scope: Scope, target: Target) =>
  changeMember(sql, scope, target, true, async (tx) => {
    await awaitDispatch(tx, scope.organizationId); // so that no event is dispatched to the member meanwhile
    await tx`
      with removed as (delete from members where organization_id = ${scope.organizationId} and id = ${target.id} returning id, organization_id, user_id, email, invitation_mail_id),
      forgotten as (${withdrawNotices(tx, tx`select organization_id, user_id from removed`)}),
      withdrawn as (delete from mails using removed where mails.id = invitation_mail_id)
      ${audit(tx, scope, "member.removed", tx`select id, jsonb_build_object('email', email) from removed`)}`;
    await settleSeats(tx, scope.organizationId);
    return "done" as const;
  });

type Current = Resource & StampedRow<MemberFacts> & { role: Role; isLastAdmin: boolean };
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
    select ${memberJson(tx)} as json, version, ${given(tx)}, role, role = 'ORG_ADMIN' and status = 'active' and not exists (
      select from members other where other.organization_id = ${organizationId} and other.id <> ${id} and other.role = 'ORG_ADMIN' and other.status = 'active') as "isLastAdmin"
    from members where organization_id = ${organizationId} and id = ${id}`;
  return current;
}
