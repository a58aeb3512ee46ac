import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Moment, Nullable, OneOf, OrganizationId, Text, Version } from "#http/schema";
import { Actor } from "#modules/people/audit/schema";

const ROLES = ["ORG_ADMIN", "ORG_MEMBER"] as const;

const apiToken = {
  id: Id,
  organizationId: OrganizationId,
  name: t.String({ description: "What it is for", examples: ["Deployment pipeline"] }),
  role: OneOf(ROLES, { description: "What it may do, as a member with this role" }),
  expiresAt: Nullable({ ...DateTime, description: "When it ends; null: never" }),
  lastUsedAt: Nullable({ ...DateTime, description: "Noted once a minute" }),
  createdBy: Actor,
  version: Version,
  createdAt: CreatedAt,
};

export const ApiToken = Answer(apiToken, { title: "ApiToken" });

export const NewApiToken = Answer(
  { ...apiToken, token: t.String({ description: "Shown this once", examples: ["cat_uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A"] }) },
  { title: "NewApiToken" },
);

export const CreateApiToken = Body(
  {
    name: Text({ description: "What it is for", examples: ["Deployment pipeline"] }),
    role: OneOf(ROLES, { description: "What it may do, as a member with this role" }),
    expiresAt: t.Optional(Moment({ description: "When it ends; never when absent" })),
  },
  { title: "CreateApiToken" },
);
