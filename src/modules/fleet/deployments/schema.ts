import { t } from "elysia";
import { Answer, DateTime, Integer, Nullable, OneOf, PageQuery, QueryInteger, Text, Uuid } from "#http/schema";
import { HeldSince } from "#modules/fleet/assignments/schema/assignments";
import { ObservedAt } from "#modules/fleet/assignments/schema/history";
import { TRUST_STORE_TYPES } from "#modules/fleet/trust-stores/rules/store-types";
import { TrustStoreType } from "#modules/fleet/trust-stores/schema";
import { DEPLOYMENT_STATES, HEALTH } from "./rules";

const State = OneOf(DEPLOYMENT_STATES, { description: "What the agent last reported; pending: nothing yet", examples: ["installed"] });

export const DeploymentQuery = t.Object({
  ...PageQuery,
  state: t.Optional(State),
  store: t.Optional(OneOf(TRUST_STORE_TYPES, { description: "A type of trust store" })),
  selector: t.Optional(
    Text({ max: 2_000, description: "Only on agents with such labels, in the grammar of their list", examples: ["env=prod,zone in (zurich-1,zurich-2)"] }),
  ),
  certificateId: t.Optional(Uuid),
  agentId: t.Optional(Uuid),
});
export type DeploymentFilter = Omit<typeof DeploymentQuery.static, "limit" | "cursor" | "selector">;

export const FleetDeployment = Answer(
  {
    assignmentId: Uuid,
    agentId: Uuid,
    agentName: t.String({ examples: ["web-01.certitude.example"] }),
    certificateId: Uuid,
    commonName: t.String({ examples: ["Example Root"] }),
    applicationId: t.String({ examples: ["payments-api"] }),
    trustStoreType: TrustStoreType,
    enabled: t.Boolean(),
    policyId: Nullable(t.String({ description: "The assignment policy that it belongs to" })),
    removingSince: Nullable({ ...DateTime, description: "Since when it is deleted but for its agent's word that it is gone from the host" }),
    version: Integer(),
    state: State,
    isAdrift: t.Boolean({ description: "Whether the last report, or its absence, is not what is wanted", examples: [false] }),
    message: Nullable(t.String()),
    reportedAt: Nullable(DateTime),
    observedAt: ObservedAt,
    updatedAt: DateTime,
    heldSince: HeldSince,
  },
  { title: "FleetDeployment" },
);

export const SummaryQuery = t.Object({
  lateAfterMinutes: {
    ...QueryInteger({ minimum: 1, maximum: 525_600, default: HEALTH.lateAfterMinutes }),
    description: "An agent that was not seen for so long is late",
  },
  silentAfterMinutes: {
    ...QueryInteger({ minimum: 1, maximum: 525_600, default: HEALTH.silentAfterMinutes }),
    description: "… and for so long, or never, silent",
  },
});

const Count = Integer({ minimum: 0, examples: [120] });
const counts = (what: readonly string[]) => t.Object(Object.fromEntries(what.map((each) => [each, Count])));

export const FleetSummary = Answer(
  {
    deployments: Answer(
      {
        total: Count,
        adrift: Integer({ minimum: 0, description: "Those that are not as they should be", examples: [3] }),
        removing: Integer({ minimum: 0, description: "Those that are deleted but for their agent's word that they are gone from the host", examples: [2] }),
        byState: counts(DEPLOYMENT_STATES),
        byStore: t.Array(Answer({ trustStoreType: TrustStoreType, total: Count, byState: t.Record(t.String(), Count) }, { title: "StoreDeployments" })),
      },
      { title: "DeploymentCounts" },
    ),
    agents: Answer({ total: Count, online: Count, late: Count, silent: Count }, { title: "AgentCounts" }),
    silentAgents: t.Array(
      Answer({ agentId: Uuid, agentName: t.String({ examples: ["web-01.certitude.example"] }), lastSeenAt: Nullable(DateTime) }, { title: "SilentAgent" }),
      { description: "The twenty that were not seen for the longest time" },
    ),
    oldestDrift: Nullable(
      Answer({ assignmentId: Uuid, agentId: Uuid, since: DateTime }, { title: "OldestDrift", description: "The drift that changed first, and when" }),
    ),
  },
  { title: "FleetSummary" },
);
