import { t } from "elysia";
import { AgentId, Answer, Body, CreatedAt, Id, Integer, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Version } from "#http/schema";
import { ASSIGNMENT_FIELDS, AssignmentPatch, HeldSince, NewAssignment } from "#modules/fleet/assignments/schema/assignments";
import { limits, rings } from "#modules/fleet/rollouts/schema";

const Name = Text({ max: 120, description: "What people call it", examples: ["Corporate root on production"] });
const Selector = Nullable(
  Text({ max: 2_000, description: "Which agents, now and later, in the grammar of their list; null: all of them", examples: ["env=prod,tier!=edge"] }),
);
const dryRun = t.Optional(t.Boolean({ default: false, description: "Only say what would happen" }));

export const NewAssignmentPolicy = Body(
  {
    name: t.Optional(Name),
    selector: Selector,
    ...NewAssignment.properties,
    rings: t.Optional({ ...rings, description: "Ring by ring, as a rollout; without them, all agents at once" }),
    ...limits,
    dryRun,
  },
  { title: "NewAssignmentPolicy" },
);
export type NewAssignmentPolicy = typeof NewAssignmentPolicy.static;

const { version: _, etag: __, ...patch } = AssignmentPatch.properties;
export const AssignmentPolicyPatch = Body(
  { name: t.Optional(Nullable(Name)), selector: t.Optional(Selector), ...patch, dryRun },
  { title: "AssignmentPolicyPatch" },
);
export type AssignmentPolicyPatch = typeof AssignmentPolicyPatch.static;

const policy = {
  id: Id,
  organizationId: OrganizationId,
  name: Nullable(t.String({ description: "What people call it", examples: ["Corporate root on production"] })),
  selector: Nullable(t.String({ description: "Null: all agents", examples: ["env=prod"] })),
  ...ASSIGNMENT_FIELDS,
  state: OneOf(["applying", "applied", "rolling_out", "halted", "rolling_back", "rolled_back"], {
    description: "applying: some agents are still to be reviewed. rolling_out, halted, rolling_back, rolled_back: its rollout is",
    examples: ["applied"],
  }),
  rolloutId: Nullable(t.String({ description: "The rollout that brings it to the agents, where it has rings" })),
  heldSince: HeldSince,
  version: Version,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
};

const Occupied = Answer(
  {
    agentId: AgentId,
    agentName: t.String({ description: "The agent's name", examples: ["web-01.certitude.example"] }),
    assignmentId: Nullable(t.String({ description: "What has the place; null when it is free by now, and the policy about to take it" })),
    policyId: Nullable(t.String({ description: "The policy of that assignment, if it has one" })),
  },
  { title: "PolicyConflict" },
);

const reach = {
  agents: Integer({ minimum: 0, description: "Agents that have its assignment, or in a dry run would", examples: [120] }),
  conflicts: Answer(
    {
      total: Integer({ minimum: 0, description: "Agents that match, but on which something else has the place", examples: [0] }),
      items: t.Array(Occupied, { description: "The first twenty of them", examples: [[]] }),
    },
    { title: "PolicyConflicts", description: "Agents on which something else has the place" },
  ),
};

export const AssignmentPolicySummary = Answer(policy, { title: "AssignmentPolicySummary" });
export const AssignmentPolicy = Answer({ ...policy, ...reach }, { title: "AssignmentPolicy" });
export const PolicyDryRun = Answer(reach, { title: "PolicyDryRun" });
