import { t } from "elysia";
import { AgentId, Answer, Body, DateTime, Integer, OrganizationId, Text } from "#http/schema";
import { Host } from "#modules/fleet/agents/schema";

/** Seconds of the longest overlap: a credential lasts no longer. */
const MAX_OVERLAP = 86_400;

export const Join = Body(
  { name: Text({ max: 120, description: "The agent's name: the host's own", examples: ["web-01.certitude.example"] }), host: t.Optional(Host) },
  { title: "Join" },
);

export const AgentAccess = Answer(
  {
    organizationId: OrganizationId,
    agentId: AgentId,
    name: t.String({ description: "The agent's name", examples: ["web-01.certitude.example"] }),
    credential: t.String({
      description: "The bearer token of the agent's requests, each of which its key must sign. It is shown this once.",
      examples: ["cac_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
    }),
    expiresAt: { ...DateTime, description: "When the credential ends" },
    signingKey: t.String({
      description: "The public key that desired states are signed with: the agent takes none that another key signed",
      examples: ["3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
    }),
  },
  { title: "AgentAccess" },
);

export const ReplaceCredentials = Body(
  {
    overlapSeconds: t.Optional(
      Integer({ minimum: 0, maximum: MAX_OVERLAP, default: MAX_OVERLAP, description: "How long what the agent has now goes on; 0 ends it at once" }),
    ),
  },
  { title: "ReplaceCredentials" },
);
