import type { Deps } from "#deps";
import { enqueueMail, SEND_MAIL } from "#mail/outbox";
import type { Scope } from "#modules/people/audit/queries";
import { inviteMember } from "../queries/invitations";
import { invitationLink, invitationMail, issueInvitationToken, showsLink } from "../rules";

type Services = Pick<Deps, "sql" | "clock" | "config" | "queue" | "stamps">;
type Body = { email: string; firstName?: string; lastName?: string; role?: "ORG_ADMIN" | "ORG_MEMBER" };

/**
 * Invites an address, or renews its invitation. The mail with the link is queued in the same transaction; `link` is for the
 * answer, where it may show it.
 */
export async function invite({ sql, stamps, clock, config, queue }: Services, scope: Scope, body: Body, base: string) {
  const { token, tokenHash, expiresAt } = issueInvitationToken(clock());
  const email = body.email.toLowerCase();
  const url = invitationLink(base, token);
  const isShown = showsLink(scope.actor, config.mail !== undefined);
  const id = config.mail ? Bun.randomUUIDv7() : null;
  const invited = await sql.begin(async (tx) => {
    const member = await inviteMember(tx, stamps, scope, { ...body, email, tokenHash, expiresAt, isShown, mailId: id });
    if (id && typeof member !== "string" && !("tooMany" in member)) {
      const cause = { kind: "invitation" as const, organizationId: scope.organizationId, memberId: member.id };
      await enqueueMail(tx, { keyring: config.keyring, queue }, { id, cause, expiresAt, mail: invitationMail({ ...member, email }, url, expiresAt) });
    }
    return member;
  });
  if (id) queue.wake(SEND_MAIL);
  return { invited, link: isShown ? { url, expiresAt } : undefined };
}
