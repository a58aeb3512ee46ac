import { t } from "elysia";
import { AgentId, Answer, Body, DateTime, OrganizationId, Text } from "#http/schema";

/** The machine that an agent runs on, as it reports it. */
export const Host = Body(
  {
    hostname: t.Optional(Text({ max: 255, description: "As the host calls itself", examples: ["web-01.certitude.example"] })),
    operatingSystem: t.Optional(Text({ description: "Its name and version", examples: ["Debian GNU/Linux 13"] })),
    platform: t.Optional(Text({ description: "The kernel, in lower case", examples: ["linux"] })),
    architecture: t.Optional(Text({ description: "Of the processor", examples: ["x64"] })),
    agentVersion: t.Optional(Text({ description: "Of the agent's executable", examples: ["0.1.0"] })),
  },
  { title: "Host", description: "What the agent reports of its host" },
);

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
