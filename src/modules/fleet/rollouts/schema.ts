import { Type } from "@sinclair/typebox";
import { t } from "elysia";
import { AgentId, Answer, AssignmentId, Body, CreatedAt, Id, Integer, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Version } from "#http/schema";
import { HeldSince, NewAssignment } from "#modules/fleet/assignments/schema/assignments";

/** A part of some agents; there are no more than ten thousand parts. */
export const Share = (description: string, examples: number[]) => Type.Number({ minimum: 0.0001, maximum: 1, description, examples });

const EXAMPLE_RINGS = [{ selector: "env=canary" }, { selector: "env=prod", share: 0.1 }, { selector: "env=prod" }];
const SELECTOR = "Which agents, as in their list; without one, all of them";

/** The rings of a body; the defaults stand in `rules.ts`. */
export const rings = t.Array(
  Body(
    {
      selector: t.Optional(Text({ max: 2_000, description: SELECTOR, examples: ["env=prod"] })),
      share: t.Optional({ ...Share("The part of those agents that this ring takes, rounded up, the oldest first", [0.1]), default: 1 }),
    },
    { title: "NewRing" },
  ),
  {
    minItems: 1,
    maxItems: 20,
    description: "An agent is in the first ring that finds it and takes it. The next ring opens when the one before has done its part.",
    examples: [EXAMPLE_RINGS],
  },
);

export const limits = {
  haltShare: t.Optional({ ...Share("The rollout halts when this part of a ring's agents reports failed", [0.1]), default: 0.1 }),
  successShare: t.Optional({ ...Share("The next ring opens when this part of the agents has observed the certificate", [1]), default: 1 }),
};

const Template = t.Omit(NewAssignment, ["enabled"], { additionalProperties: false, title: "RolloutAssignment", description: "What each agent gets" });

export const NewRollout = Body(
  { name: Text({ description: "What people call it", examples: ["New root, canaries first"] }), assignment: Template, rings, ...limits },
  { title: "NewRollout" },
);
export type NewRollout = typeof NewRollout.static;
export type NewRing = NewRollout["rings"][number];

export const Resumption = Body(
  { haltShare: t.Optional(Share("From now on it halts at this share; without one, at the same as before", [0.2])) },
  { title: "Resumption" },
);

const Selector = Nullable(t.String({ description: "Null: all agents", examples: ["env=canary"] }));
const RingShare = t.Number({ description: "The part of those agents that the ring takes", examples: [1] });

const rollout = {
  id: Id,
  organizationId: OrganizationId,
  name: t.String({ description: "What people call it", examples: ["New root, canaries first"] }),
  status: OneOf(["running", "halted", "completed", "rolling_back", "rolled_back"], { description: "rolling_back: until the hosts have acted" }),
  reason: Nullable(t.String({ description: "Why it was halted" })),
  certificateId: t.String({ description: "The certificate that the agents get" }),
  predecessorId: Nullable(t.String({ description: "In a rotation, the certificate that it takes the place of" })),
  assignment: Nullable({ ...Template, description: "What each agent gets; null: a rotation copies what is there" }),
  haltShare: Nullable(t.Number({ description: "Null: failures do not halt it, as in a rotation of a renewal", examples: [0.1] })),
  successShare: t.Number({ description: "The next ring opens when this part of the agents has observed the certificate", examples: [1] }),
  heldSince: HeldSince,
  version: Version,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
};

export const RolloutSummary = Answer(
  { ...rollout, rings: t.Array(Answer({ selector: Selector, share: RingShare }, { title: "RingPlan" }), { description: "The first opens first" }) },
  { title: "RolloutSummary" },
);

const Ring = Answer(
  {
    selector: Selector,
    share: RingShare,
    state: OneOf(["waiting", "open", "done", "rolling_back", "rolled_back"], { description: "done: as many agents as successShare asks for have observed it" }),
    agents: Integer({ minimum: 0, description: "Agents in it; 0 until it opens", examples: [20] }),
    observed: Integer({ minimum: 0, description: "Agents that have seen the certificate in the store", examples: [12] }),
    failed: Integer({ minimum: 0, description: "Agents that reported failed since the ring opened or the rollout was resumed", examples: [1] }),
    pending: Integer({ minimum: 0, description: "All the others", examples: [7] }),
  },
  { title: "Ring" },
);

const Rollback = Answer(
  {
    pending: Integer({ minimum: 0, description: "Assignments whose agents have not acted yet", examples: [2] }),
    failing: t.Array(
      Answer(
        {
          agentId: AgentId,
          agentName: t.String({ description: "The agent's name", examples: ["web-01.certitude.example"] }),
          assignmentId: AssignmentId,
          state: OneOf(["failed", "refused", "kept"], { description: "kept: the store trusts it still" }),
          message: Nullable(t.String({ description: "What the agent says of it" })),
        },
        { title: "FailingAgent" },
      ),
      { description: "At most 100 of the agents that report that they failed, or that the store still trusts it" },
    ),
  },
  { title: "Rollback", description: "How far the taking back has come; null where nothing is taken back" },
);

export const Rollout = Answer(
  {
    ...rollout,
    rollback: Nullable(Rollback),
    rings: t.Array(Ring, { description: "The first opens first" }),
    skipped: Integer({ minimum: 0, description: "Assignments that it leaves alone", examples: [0] }),
  },
  { title: "Rollout" },
);
