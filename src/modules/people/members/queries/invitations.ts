import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { lockOrganization } from "#db/locks";
import type { Resource } from "#db/outcome";
import type { Cause } from "#mail/outbox";
import { recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope, userOf } from "#modules/people/audit/queries";
import { type MemberFacts, memberFacts, type Role, type StampedRow } from "#modules/people/roles/queries";
import { given, memberJson } from "./members";
import { holdsSeat, settleSeats } from "./seats";

type Invitation = {
  email: string;
  firstName?: string | undefined;
  lastName?: string | undefined;
  role?: Role | undefined;
  tokenHash: string;
  expiresAt: string;
  /** True when the answer shows the link; the audit trail has this too. */
  isShown: boolean;
  /** The mail that holds the link, in the place of an earlier one; null where no mail is sent. */
  mailId: string | null;
};
/** The invited person, the organization and the inviting user, if any. */
export type Invited = Resource & {
  id: string;
  firstName: string | null;
  lastName: string | null;
  role: Role;
  organization: string;
  inviter: { name: string | null; email: string | null } | null;
};

/**
 * Invites an address or renews its invitation, keeping unnamed fields unless the role is held, under the organization's row
 * lock. Returns `member`, `full` without a seat, or the exceeded limit of mails.
 */
export async function inviteMember(tx: Sql, stamps: Stamps, scope: Scope, invite: Invitation): Promise<Invited | "member" | "full" | TooMany> {
  const { organizationId } = scope;
  const seatLimit = (await lockOrganization(tx, organizationId))?.seatLimit ?? null;
  const state = invite.mailId && "pending";
  const inviterId = userOf(scope);
  const [known] = await tx<StampedRow<MemberFacts>[]>`select ${given(tx)} from members where organization_id = ${organizationId} and email = ${invite.email}`;
  if (known?.facts.status === "active") return "member";
  const tooMany = invite.mailId && (await findExcess(tx, organizationId, invite.email));
  if (tooMany) return tooMany;
  const role = invite.role ?? (known && stamps.hold(known.stamp, memberFacts(known.facts)) ? known.facts.role : "ORG_MEMBER");
  const id = known?.facts.id ?? Bun.randomUUIDv7();
  const stamp = stamps.of(memberFacts({ organizationId, id, userId: null, email: invite.email, role, status: "invited" }));
  const [row] = await tx<Invited[]>`
      -- the row of this address, when it holds a seat already
      with known as (select status from members where organization_id = ${organizationId} and email = ${invite.email} and ${holdsSeat(tx)}),
      -- how many seats are in use
      taken as (select count(*)::int as seats from members where organization_id = ${organizationId} and ${holdsSeat(tx)}),
      -- adds or renews the invitation, when there is a seat for it
      saved as (
        insert into members (organization_id, id, email, first_name, last_name, role, status, invitation_token_hash, invitation_expires_at,
          invitation_mail_id, invitation_mail, stamp)
        select ${organizationId}, ${id}, ${invite.email}, ${invite.firstName ?? null}, ${invite.lastName ?? null},
          ${role}::member_role, 'invited', decode(${invite.tokenHash}, 'hex'), ${invite.expiresAt}, ${invite.mailId}, ${state}::invitation_mail, ${stamp}::bytea
        from taken where exists (select from known) or seats < ${seatLimit}::int or ${seatLimit}::int is null
        on conflict (organization_id, email) do update set role = excluded.role, stamp = excluded.stamp, held_since = null,
          first_name = coalesce(excluded.first_name, members.first_name), last_name = coalesce(excluded.last_name, members.last_name),
          invitation_token_hash = excluded.invitation_token_hash, invitation_expires_at = excluded.invitation_expires_at,
          invitation_mail_id = excluded.invitation_mail_id, invitation_mail = excluded.invitation_mail, invitation_mail_failure = null,
          version = members.version + 1, updated_at = now()
        where members.status = 'invited'
        returning *),
      -- withdraws the mail of the earlier invitation, whose link is good no more
      withdrawn as (
        delete from mails using saved, members as earlier
        where earlier.organization_id = ${organizationId} and earlier.id = saved.id and mails.id = earlier.invitation_mail_id),
      -- records an event, unless the address had an invitation already
      recorded as (${recordEvents(tx, "member_invited", tx`${memberFactsOf(tx, "saved")} where not exists (select from known)`)}),
      -- the audit event of the invitation
      audited as (${audit(tx, scope, "member.invited", tx`select id, jsonb_build_object('email', email, 'role', role) from saved`)}),
      -- an audit event when the response shows the link
      shown as (${audit(tx, scope, "member.link-shown", tx`select id, jsonb_build_object('email', email) from saved where ${invite.isShown}`)})
      select ${memberJson(tx)} as json, version, id, first_name as "firstName", last_name as "lastName", role,
        (select name from organizations where id = ${organizationId}) as organization,
        (select json_build_object('name', coalesce(full_name, display_name), 'email', email) from users where id = ${inviterId}) as inviter
      from saved`;
  if (row && seatLimit !== null) await settleSeats(tx, organizationId);
  return row ?? "full";
}

/** Invitations that an organization may mail within a day: to one address, and in all. */
const MAILED_A_DAY = { address: 5, organization: 500 };
export type TooMany = { tooMany: string };

/** Counts by the audit trail, which keeps removed members too; under the organization's lock. */
async function findExcess(tx: Sql, organizationId: string, email: string): Promise<TooMany | undefined> {
  const [sent] = await tx<Record<keyof typeof MAILED_A_DAY, number>[]>`
    select count(*)::int as organization, (count(*) filter (where details->>'email' = ${email}))::int as address from audit_events
    where organization_id = ${organizationId} and action = 'member.invited' and is_first and at > now() - interval '1 day'`;
  if (sent && sent.address >= MAILED_A_DAY.address) return { tooMany: `This address was sent ${MAILED_A_DAY.address}` };
  if (sent && sent.organization >= MAILED_A_DAY.organization) return { tooMany: `This organization sent ${MAILED_A_DAY.organization}` };
}

type Accepting = { tokenHash: string; userId: string; email: string | null };

/**
 * Makes the invited address's owner a member, once and until the invitation expires (else `not found`). `stranger` for another
 * address, `conflict` for a member, `held` without the server's stamp.
 */
export async function acceptInvitation(
  sql: Pool,
  stamps: Stamps,
  { tokenHash, userId, email }: Accepting,
  requestId: string,
): Promise<Resource | "not found" | "stranger" | "conflict" | "held"> {
  const [invited] = await sql<StampedRow<MemberFacts>[]>`
    select ${given(sql)}
    from members where invitation_token_hash = decode(${tokenHash}, 'hex') and invitation_expires_at > clock_timestamp() and status = 'invited'`;
  if (!invited) return "not found";
  if (invited.facts.email !== email) return "stranger";
  if (!stamps.hold(invited.stamp, memberFacts(invited.facts))) return "held";
  const { organizationId, id, role } = invited.facts;
  const stamp = stamps.of(memberFacts({ ...invited.facts, userId, status: "active" }));
  const scope: Scope = { organizationId, actor: { type: "user", id: userId }, requestId };
  return sql.begin(async (tx) => {
    // The seat of an invitation that expires meanwhile may be given away, and the user may accept another one of this organization.
    await lockOrganization(tx, organizationId);
    const [row] = await tx<(Resource & { id: string | null; isMember: boolean })[]>`
      with own as (select exists (select from members where organization_id = ${organizationId} and user_id = ${userId}) as "isMember"),
      accepted as (
        update members set user_id = ${userId}, status = 'active', stamp = ${stamp}, invitation_token_hash = null, invitation_expires_at = null,
          invitation_mail_id = null, invitation_mail = null, invitation_mail_failure = null, version = version + 1, updated_at = now()
        from own where organization_id = ${organizationId} and id = ${id} and role = ${role} and invitation_token_hash = decode(${tokenHash}, 'hex')
          and invitation_expires_at > clock_timestamp() and not "isMember" returning members.*),
      withdrawn as (delete from mails using accepted, members as invited
        where invited.organization_id = ${organizationId} and invited.id = accepted.id and mails.id = invited.invitation_mail_id),
      recorded as (${recordEvents(tx, "member_joined", memberFactsOf(tx, "accepted"))}),
      audited as (${audit(tx, scope, "member.joined", tx`select id, jsonb_build_object('email', email, 'role', role) from accepted`)})
      select "isMember", id, ${memberJson(tx)} as json, version from own left join accepted on true`;
    if (row?.isMember) return "conflict";
    return row?.id ? row : "not found";
  });
}

/** Selects the facts of the members `rows` for their events. */
const memberFactsOf = (sql: Sql, rows: "saved" | "accepted") => sql`
  select organization_id, id, jsonb_build_object('name', coalesce(nullif(concat_ws(' ', first_name, last_name), ''), email), 'role', role), null::uuid, null::member_role from ${sql.text(rows)}`;

export type MailOutcome = { state: "sent" } | { state: "pending" | "failed"; reason: string };

/** Keeps how the mail of an invitation fared, unless a newer one has taken its place. While it is tried again, without an audit event. */
export async function noteInvitationMail(tx: Sql, { organizationId, memberId }: Extract<Cause, { kind: "invitation" }>, mailId: string, outcome: MailOutcome) {
  const { state } = outcome;
  const reason = state === "sent" ? null : outcome.reason;
  const noted = tx`
    update members set invitation_mail = ${state}, invitation_mail_failure = ${reason}
    where organization_id = ${organizationId} and id = ${memberId} and invitation_mail_id = ${mailId} returning id, email`;
  if (state === "pending") return void (await noted);
  const scope: Scope = { organizationId, actor: { type: "server" }, requestId: null };
  const details = tx`select id, jsonb_strip_nulls(jsonb_build_object('email', email, 'reason', ${reason}::text)) from noted`;
  await tx`with noted as (${noted}) ${audit(tx, scope, state === "sent" ? "member.invitation-mailed" : "member.invitation-mail-failed", details)}`;
}
