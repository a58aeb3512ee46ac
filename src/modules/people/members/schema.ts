import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Email, Id, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Uuid, Version } from "#http/schema";

const ROLES = ["ORG_ADMIN", "ORG_MEMBER"] as const;
const Role = OneOf(ROLES, { description: "ORG_MEMBER reads, ORG_ADMIN writes too" });

const member = {
  id: Id,
  organizationId: OrganizationId,
  userId: Nullable({ ...Uuid, description: "Who accepted the invitation; null while nobody has" }),
  email: t.String({ description: "Lower-case" }),
  firstName: Nullable(t.String({ description: "As the invitation says" })),
  lastName: Nullable(t.String({ description: "As the invitation says" })),
  role: Role,
  status: OneOf(["invited", "active"], { description: "invited until the invitation is accepted" }),
  invitationExpiresAt: Nullable({ ...DateTime, description: "When it can no longer be accepted" }),
  invitationMail: Nullable(OneOf(["pending", "sent", "failed"], { description: "How the mail of the invitation fared; null where none is sent" })),
  invitationMailFailure: Nullable(
    t.String({ description: "Why it was not sent, or why the last attempt failed", examples: ["mail.example:587 refuses the recipient: 550 No such user"] }),
  ),
  version: Version,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
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
          expiresAt: { ...DateTime, description: "When it can no longer be accepted" },
        },
        { description: "Shown this once, where no mail is sent and a user token or an API token asks" },
      ),
    ),
  },
  { title: "NewMember" },
);

export const InviteMember = Body({
  email: { ...Email, description: "Where the invitation goes; kept in lower case" },
  firstName: t.Optional(Text({ description: "For the mail and the list of members", examples: ["Grace"] })),
  lastName: t.Optional(Text({ description: "For the mail and the list of members", examples: ["Hopper"] })),
  role: t.Optional(OneOf(ROLES, { description: "ORG_MEMBER unless said; inviting again without it keeps the role" })),
});

export const ChangeRole = Body({ role: Role });

export const AcceptInvitation = Body({
  token: t.String({
    minLength: 1,
    maxLength: 200,
    description: "What follows the # in the invitation's link",
    examples: ["uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A"],
  }),
});
