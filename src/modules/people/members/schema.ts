import { t } from "elysia";
import { Answer, Body, DateTime, Email, Integer, Nullable, OneOf, Text, Uuid } from "#http/schema";

const ROLES = ["ORG_ADMIN", "ORG_MEMBER"] as const;

const member = {
  id: Uuid,
  organizationId: Uuid,
  userId: Nullable(Uuid),
  email: t.String(),
  firstName: Nullable(t.String()),
  lastName: Nullable(t.String()),
  role: OneOf(ROLES),
  status: OneOf(["invited", "active"]),
  invitationExpiresAt: Nullable(DateTime),
  invitationMail: Nullable(OneOf(["pending", "sent", "failed"], { description: "How the mail of the invitation fared; null where none is sent" })),
  invitationMailFailure: Nullable(
    t.String({ description: "Why it was not sent, or why the last attempt failed", examples: ["mail.example:587 refuses the recipient: 550 No such user"] }),
  ),
  version: Integer(),
  createdAt: DateTime,
  updatedAt: DateTime,
};

export const Member = Answer(member, { title: "Member" });
export const NewMember = Answer(
  {
    ...member,
    invitation: t.Optional(
      Answer(
        {
          url: t.String({
            format: "uri",
            description: "What follows the # is the token of POST /invitations/accept",
            examples: ["https://certitude.example/invitations/accept#uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A"],
          }),
          expiresAt: DateTime,
        },
        { description: "Shown this once, where no mail is sent and a user token or an API token asks" },
      ),
    ),
  },
  { title: "NewMember" },
);

export const InviteMember = Body({
  email: Email,
  firstName: t.Optional(Text({ examples: ["Grace"] })),
  lastName: t.Optional(Text({ examples: ["Hopper"] })),
  role: t.Optional(OneOf(ROLES, { description: "ORG_MEMBER unless said; inviting again without it keeps the role" })),
});

export const ChangeRole = Body({ role: OneOf(ROLES) });

export const AcceptInvitation = Body({ token: t.String({ minLength: 1, maxLength: 200, examples: ["uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A"] }) });
