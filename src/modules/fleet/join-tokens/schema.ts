import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Integer, Moment, Nullable, OrganizationId, Uuid, Version } from "#http/schema";
import { Labels } from "#labels/schema";
import { Actor } from "#modules/people/audit/schema";

/** Seconds of the longest overlap: a credential lasts no longer. */
const MAX_OVERLAP = 86_400;

const MAX_USES = 100_000;

const joinToken = {
  id: Id,
  organizationId: OrganizationId,
  agentId: Nullable({ ...Uuid, description: "The one agent that it is for; null where each use makes an agent" }),
  labels: t.Record(t.String(), t.String(), { description: "What the new agents are labelled with", examples: [{ env: "prod" }] }),
  maxUses: Integer({ description: "How many hosts may join with it" }),
  uses: Integer({ description: "How many have" }),
  expiresAt: { ...DateTime, description: "When it ends" },
  createdBy: Actor,
  version: Version,
  createdAt: CreatedAt,
};

export const JoinToken = Answer(joinToken, { title: "JoinToken" });

export const NewJoinToken = Answer(
  { ...joinToken, token: t.String({ description: "Shown this once", examples: ["caj_uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A"] }) },
  { title: "NewJoinToken" },
);

export const CreateJoinToken = Body(
  {
    labels: t.Optional(Labels),
    maxUses: t.Optional(Integer({ minimum: 1, maximum: MAX_USES, default: 1, description: "How many hosts may join with it" })),
    expiresAt: t.Optional(Moment({ description: "When it ends: within a year, in a day when absent" })),
  },
  { title: "CreateJoinToken" },
);

export const ReplaceCredentials = Body(
  {
    overlapSeconds: t.Optional(
      Integer({ minimum: 0, maximum: MAX_OVERLAP, default: MAX_OVERLAP, description: "How long what the agent has now goes on; 0 ends it at once" }),
    ),
  },
  { title: "ReplaceCredentials" },
);
