import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import { type Resource, type Target, updateLocked } from "#db/outcome";
import { audit, type Scope } from "#modules/people/audit/queries";

type Role = "ORG_ADMIN" | "ORG_MEMBER";

/** The columns that every answer shows, as json text. */
const memberJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'userId', user_id, 'email', email,
  'firstName', first_name, 'lastName', last_name, 'role', role, 'status', status, 'invitationExpiresAt', iso(invitation_expires_at),
  'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

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

type Invitation = {
  email: string;
  firstName?: string | undefined;
  lastName?: string | undefined;
  role?: Role | undefined;
  tokenHash: string;
  expiresAt: string;
  /** Whether the answer shows the link; the audit trail says so. */
  isShown: boolean;
};

/** Members hold a seat, and invitations until they expire. */
export const holdsSeat = (sql: Sql) => sql`(status = 'active' or invitation_expires_at > clock_timestamp())`;

/**
 * Invites an address, or renews its invitation; what is not given stays. Returns `member` when the address belongs to a member already,
 * `full` when no seat is left. The row lock of the organization serializes concurrent requests.
 */
export function inviteMember(sql: Pool, scope: Scope, invite: Invitation): Promise<Resource | "member" | "full"> {
  const { organizationId } = scope;
  return sql.begin(async (tx) => {
    const seatLimit = (await lockOrganization(tx, organizationId))?.seatLimit ?? null;
    const [row] = await tx<Resource[]>`
      -- the row of this address, when it holds a seat already
      with known as (select status from members where organization_id = ${organizationId} and email = ${invite.email} and ${holdsSeat(tx)}),
      -- how many seats are in use
      taken as (select count(*)::int as seats from members where organization_id = ${organizationId} and ${holdsSeat(tx)}),
      -- adds or renews the invitation, when there is a seat for it
      saved as (
        insert into members (organization_id, id, email, first_name, last_name, role, status, invitation_token_hash, invitation_expires_at)
        select ${organizationId}, ${Bun.randomUUIDv7()}, ${invite.email}, ${invite.firstName ?? null}, ${invite.lastName ?? null},
          coalesce(${invite.role ?? null}, 'ORG_MEMBER')::member_role, 'invited',
          decode(${invite.tokenHash}, 'hex'), ${invite.expiresAt}
        from taken where exists (select from known) or seats < ${seatLimit}::int or ${seatLimit}::int is null
        on conflict (organization_id, email) do update set role = coalesce(${invite.role ?? null}::member_role, members.role),
          first_name = coalesce(excluded.first_name, members.first_name), last_name = coalesce(excluded.last_name, members.last_name),
          invitation_token_hash = excluded.invitation_token_hash, invitation_expires_at = excluded.invitation_expires_at,
          version = members.version + 1, updated_at = now()
        where members.status = 'invited'
        returning *),
      -- the audit event of the invitation
      audited as (${audit(tx, scope, "member.invited", tx`select id, jsonb_build_object('email', email, 'role', role) from saved`)}),
      -- an audit event when the response shows the link
      shown as (${audit(tx, scope, "member.link-shown", tx`select id, jsonb_build_object('email', email) from saved where ${invite.isShown}`)})
      select ${memberJson(tx)} as json, version from saved`;
    if (row) return row;
    const [member] = await tx`select 1 from members where organization_id = ${organizationId} and email = ${invite.email} and status = 'active'`;
    return member ? "member" : "full";
  });
}

type Accepting = { tokenHash: string; userId: string; email: string | null };

/**
 * Makes the owner of the invited address a member. An invitation works once, until it expires: else `not found`. Returns `stranger` for
 * another address, `conflict` when the user is a member already.
 */
export async function acceptInvitation(
  sql: Pool,
  { tokenHash, userId, email }: Accepting,
  requestId: string,
): Promise<Resource | "not found" | "stranger" | "conflict"> {
  const [invited] = await sql<{ organizationId: string; id: string; email: string }[]>`
    select organization_id as "organizationId", id, email
    from members where invitation_token_hash = decode(${tokenHash}, 'hex') and invitation_expires_at > clock_timestamp() and status = 'invited'`;
  if (!invited) return "not found";
  if (invited.email !== email) return "stranger";
  const { organizationId, id } = invited;
  const scope: Scope = { organizationId, actor: { type: "user", id: userId }, requestId };
  return sql.begin(async (tx) => {
    // The seat of an invitation that expires meanwhile may be given away, and the user may accept another one of this organization.
    await lockOrganization(tx, organizationId);
    const [row] = await tx<(Resource & { id: string | null; isMember: boolean })[]>`
      with own as (select exists (select from members where organization_id = ${organizationId} and user_id = ${userId}) as "isMember"),
      accepted as (
        update members set user_id = ${userId}, status = 'active', invitation_token_hash = null, invitation_expires_at = null, version = version + 1, updated_at = now()
        from own where organization_id = ${organizationId} and id = ${id} and invitation_token_hash = decode(${tokenHash}, 'hex')
          and invitation_expires_at > clock_timestamp() and not "isMember" returning members.*),
      audited as (${audit(tx, scope, "member.joined", tx`select id, jsonb_build_object('email', email, 'role', role) from accepted`)})
      select "isMember", id, ${memberJson(tx)} as json, version from own left join accepted on true`;
    if (row?.isMember) return "conflict";
    return row?.id ? row : "not found";
  });
}

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
      with removed as (delete from members where organization_id = ${scope.organizationId} and id = ${target.id} returning id, email)
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
