import { t } from "elysia";
import { AgentId, Answer, AssignmentId, CertificateId, DateTime, Nullable, OneOf, UpdatedAt, Version } from "#http/schema";
import { ObservedAt } from "#modules/fleet/assignments/schema/history";
import { CommonName, Count, Name } from "./parts";

const health = {
  total: Count("agents"),
  online: Count("were seen lately"),
  late: Count("were not seen for the settings' first time"),
  silent: Count("were not seen for the second, or never"),
};

export const AgentHealth = Answer(
  {
    ...health,
    groups: t.Array(Answer({ name: t.String({ description: "What its agents have in common" }), ...health }), { description: "As the settings group them" }),
    agents: t.Array(
      Answer({
        agentId: AgentId,
        name: Name("the agent"),
        status: OneOf(["online", "late", "silent"], { description: "How long ago it was seen" }),
        platform: Nullable(t.String({ description: "The host's kernel" })),
        agentVersion: Nullable(t.String({ description: "Of the agent's executable" })),
        lastSeenAt: Nullable({ ...DateTime, description: "Its last request; null: none yet" }),
      }),
      { description: "At most 200, those longest silent first" },
    ),
  },
  { title: "AgentHealthData" },
);

export const AssignmentDrift = Answer(
  {
    total: Count("deployments are not as they should be"),
    items: t.Array(
      Answer({
        assignmentId: AssignmentId,
        agentId: AgentId,
        agentName: Name("the agent"),
        certificateId: CertificateId,
        commonName: CommonName,
        trustStoreType: t.String({ description: "The type of the store" }),
        enabled: t.Boolean({ description: "Whether it is to be installed" }),
        version: Version,
        updatedAt: UpdatedAt,
        reason: OneOf(["never_reported", "failed", "drifted", "refused", "not_installed", "not_removed", "other_certificate", "outdated"], {
          description: "What is wrong; outdated: the last report is of a version before",
        }),
        message: Nullable(t.String({ description: "What the agent says of it" })),
        reportedAt: Nullable({ ...DateTime, description: "When the server received that" }),
        observedAt: ObservedAt,
      }),
      { description: "At most 100, the oldest first" },
    ),
  },
  { title: "AssignmentDriftData" },
);

export const TrustStoreCoverage = Answer(
  {
    rows: t.Array(Answer({ key: t.String({ description: "What cells name it by" }), displayName: t.String({ description: "Its name for people" }) }), {
      description: "Types of store, or their categories",
    }),
    columns: t.Array(t.String(), { description: "Platforms of agents" }),
    cells: t.Array(
      Answer({
        row: t.String({ description: "The key of the row" }),
        column: t.String({ description: "One of the columns: a platform" }),
        assignments: Count("assignments"),
        agents: Count("agents have one"),
      }),
      { description: "Those that are not empty" },
    ),
  },
  { title: "TrustStoreCoverageData" },
);
