import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Integer, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Uuid, Version } from "#http/schema";
import { EXAMPLE_LABELS, Labels } from "#labels/schema";
import { Host } from "#modules/fleet/agent-access/schema";

const ACCESS = ["long-lived", "key", "none"] as const;
const EXAMPLE_ID = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02";

const Name = Text({ max: 120, description: "What people call it: mostly the host's name", examples: ["web-01.certitude.example"] });

const agent = {
  id: Id,
  organizationId: OrganizationId,
  name: t.String({ description: "What people call it: mostly the host's name", examples: ["web-01.certitude.example"] }),
  labels: t.Record(t.String(), t.String(), { description: "Keys and values that selectors look for", examples: [EXAMPLE_LABELS] }),
  host: Nullable(Host),
  lastSeenAt: Nullable({ ...DateTime, description: "Its last request, to the minute; null: none yet" }),
  access: OneOf(ACCESS, { description: "How it proves who it is: by a long-lived token, or by the key that its host made; none when that has ended" }),
  accessEndsAt: Nullable({ ...DateTime, description: "When that ends, because new credentials were asked for" }),
  credentialMisusedAt: Nullable({ ...DateTime, description: "When a credential of it was last shown without its key, from a host that it was copied to" }),
  heldSince: Nullable({ ...DateTime, description: "Since when the agent is not let in, because nothing proves that a server gave it its token or key" }),
  version: Version,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
};

export const Agent = Answer(agent, { title: "Agent" });
export const EnrolledAgent = Answer(
  {
    ...agent,
    token: t.String({ description: "The agent's own bearer token. It is shown this once.", examples: ["cag_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] }),
  },
  { title: "EnrolledAgent" },
);

export const NewAgent = Body({ name: Name, labels: t.Optional(Labels) }, { title: "NewAgent" });
export const AgentPatch = Body({ name: Name }, { title: "AgentPatch" });

export const BulkLabelUpdate = Body(
  {
    agentIds: t.Optional(t.Array(Uuid, { minItems: 1, maxItems: 10_000, description: "Whom to label: these agents, or those of the selector" })),
    selector: t.Optional({ ...Labels, minProperties: 1, description: "Whom to label: the agents that have all of these labels", examples: [{ env: "prod" }] }),
    set: t.Optional({ ...Labels, description: "Labels to add or to give another value", examples: [{ tier: "edge" }] }),
    unset: t.Optional(t.Array(t.String({ maxLength: 200 }), { maxItems: 64, description: "Keys of labels to take away", examples: [["legacy"]] })),
    dryRun: t.Optional(t.Boolean({ default: false, description: "Only say what would happen" })),
  },
  { title: "BulkLabelUpdate" },
);

export const BulkLabelReport = Answer(
  {
    matched: Integer({ minimum: 0, description: "Agents that were found" }),
    updated: Integer({ minimum: 0, description: "Agents whose labels changed, or would" }),
    notFound: t.Array(Uuid, { description: "Those of agentIds that are no agents of this organization", examples: [[EXAMPLE_ID]] }),
  },
  { title: "BulkLabelReport" },
);
