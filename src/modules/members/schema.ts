import { t } from "elysia";
import { Answer, Body, DateTime, Email, Integer, Nullable, OneOf, Text, Uuid } from "../../http/schema";

const ROLES = ["ORG_ADMIN", "ORG_MEMBER"] as const;

export const Member = Answer(
  {
    id: Uuid,
    organizationId: Uuid,
    userId: Nullable(Uuid),
    email: t.String(),
    firstName: Nullable(t.String()),
    lastName: Nullable(t.String()),
    role: OneOf(ROLES),
    status: OneOf(["invited", "active"]),
    invitationExpiresAt: Nullable(DateTime),
    version: Integer(),
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  { title: "Member" },
);

export const InviteMember = Body({
  email: Email,
  firstName: t.Optional(Text({ examples: ["Grace"] })),
  lastName: t.Optional(Text({ examples: ["Hopper"] })),
  role: t.Optional(OneOf(ROLES, { default: "ORG_MEMBER" })),
});

export const ChangeRole = Body({ role: OneOf(ROLES) });

export const AcceptInvitation = Body({ token: t.String({ minLength: 1, maxLength: 200, examples: ["uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A"] }) });
