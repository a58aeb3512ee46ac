import { t } from "elysia";
import {
  AgentId,
  Answer,
  AssignmentId,
  CertificateId,
  DateTime,
  Integer,
  Nullable,
  OneOf,
  PageQuery,
  QueryInteger,
  Text,
  UpdatedAt,
  Uuid,
  Version,
} from "#http/schema";
import { HeldSince } from "#modules/fleet/assignments/schema/assignments";
import { ObservedAt } from "#modules/fleet/assignments/schema/history";
import { TRUST_STORE_TYPES } from "#modules/fleet/trust-stores/rules/store-types";
import { TrustStoreType } from "#modules/fleet/trust-stores/schema";
import { UNPROVEN_KINDS, UNPROVEN_WORDS } from "#modules/people/roles/rules";
import { DEPLOYMENT_STATES, HEALTH } from "./rules";

const State = OneOf(DEPLOYMENT_STATES, { description: "What the agent last reported; pending: nothing yet", examples: ["installed"] });

export const DeploymentQuery = t.Object({
  ...PageQuery,
  state: t.Optional(State),
  store: t.Optional(OneOf(TRUST_STORE_TYPES, { description: "A type of trust store" })),
  selector: t.Optional(
    Text({ max: 2_000, description: "Only on agents with such labels, in the grammar of their list", examples: ["env=prod,zone in (zurich-1,zurich-2)"] }),
  ),
  certificateId: t.Optional({ ...Uuid, description: "Only of this certificate" }),
  agentId: t.Optional({ ...Uuid, description: "Only on this agent" }),
});
export type DeploymentFilter = Omit<typeof DeploymentQuery.static, "limit" | "cursor" | "selector">;

export const FleetDeployment = Answer(
  {
    assignmentId: AssignmentId,
    agentId: AgentId,
    agentName: t.String({ description: "The agent's name", examples: ["web-01.certitude.example"] }),
    certificateId: CertificateId,
    commonName: t.String({ description: "The certificate's", examples: ["Example Root"] }),
    applicationId: t.String({ description: "What uses the certificate there, as the assignment names it", examples: ["payments-api"] }),
    trustStoreType: TrustStoreType,
    enabled: t.Boolean({ description: "Whether it is to be installed" }),
    policyId: Nullable(t.String({ description: "The assignment policy that it belongs to" })),
    removingSince: Nullable({ ...DateTime, description: "Since when it is deleted but for its agent's word that it is gone from the host" }),
    version: Version,
    state: State,
    isAdrift: t.Boolean({ description: "Whether the last report, or its absence, is not what is wanted", examples: [false] }),
    message: Nullable(t.String({ description: "What the agent says of it, such as why it failed" })),
    reportedAt: Nullable({ ...DateTime, description: "When the server received that" }),
    observedAt: ObservedAt,
    updatedAt: UpdatedAt,
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

const Count = (description: string) => Integer({ minimum: 0, description, examples: [120] });
const ByState = t.Object(Object.fromEntries(DEPLOYMENT_STATES.map((each) => [each, Count(`Deployments that are ${each}`)])), {
  description: "By what the agent last reported",
});

export const FleetSummary = Answer(
  {
    deployments: Answer(
      {
        total: Count("All deployments"),
        adrift: Integer({ minimum: 0, description: "Those that are not as they should be", examples: [3] }),
        removing: Integer({ minimum: 0, description: "Those that are deleted but for their agent's word that they are gone from the host", examples: [2] }),
        byState: ByState,
        byStore: t.Array(
          Answer(
            {
              trustStoreType: TrustStoreType,
              total: Count("Deployments into stores of this type"),
              byState: t.Record(t.String(), Count("Deployments in this state"), { description: "By what the agent last reported, where there is any" }),
            },
            { title: "StoreDeployments" },
          ),
          { description: "For each type of store that is used" },
        ),
      },
      { title: "DeploymentCounts", description: "How many certificates are where they should be" },
    ),
    agents: Answer(
      {
        total: Count("All agents"),
        online: Count("Seen less than lateAfterMinutes ago"),
        late: Count("Seen less than silentAfterMinutes ago"),
        silent: Count("Not seen for longer, or never"),
      },
      { title: "AgentCounts", description: "How many agents ask for their work" },
    ),
    held: t.Object(Object.fromEntries(UNPROVEN_KINDS.map((each) => [each, Integer({ minimum: 0, description: UNPROVEN_WORDS[each], examples: [0] })])), {
      description: "What was found held, because nothing proves that a server ordered what the database says of it",
    }),
    trustsUntil: Nullable({ ...DateTime, description: "After an upgrade: until when what the release before writes counts without a stamp" }),
    silentAgents: t.Array(
      Answer(
        {
          agentId: AgentId,
          agentName: t.String({ description: "The agent's name", examples: ["web-01.certitude.example"] }),
          lastSeenAt: Nullable({ ...DateTime, description: "Its last request; null: none yet" }),
        },
        { title: "SilentAgent" },
      ),
      { description: "The twenty that were not seen for the longest time" },
    ),
    oldestDrift: Nullable(
      Answer(
        { assignmentId: AssignmentId, agentId: AgentId, since: { ...DateTime, description: "When it began" } },
        { title: "OldestDrift", description: "The drift that changed first, and when" },
      ),
    ),
  },
  { title: "FleetSummary" },
);
