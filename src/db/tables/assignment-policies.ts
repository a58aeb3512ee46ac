import { sql } from "drizzle-orm";
import { bigint, foreignKey, index, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { certificates } from "./certificates";
import { assigned, bytes, id, moment, versioned } from "./columns";
import { organizationId } from "./organizations";

/** Standing assignments: every agent with certain labels gets them, now and later. Their assignments name them. */
export const assignmentPolicies = pgTable(
  "assignment_policies",
  {
    organizationId: organizationId(),
    id: id(),
    name: text(),
    /** As it was sent, and as a jsonpath; null: all agents. */
    selector: text(),
    selectorPath: text(),
    ...assigned(),
    /**
     * The rollout that brings it to the agents of its beginning, ring by ring; the policy adds nothing by itself before that is
     * completed.
     */
    rolloutId: uuid(),
    /** All agents are gone through once more; those above this id are still to come. Null when there is nothing to do. */
    appliedUpTo: uuid(),
    /** Its assignments go, and then it does. */
    deletedAt: moment(),
    /** Proves that the server ordered what the columns say. */
    stamp: bytes(),
    /** Since when the server does nothing with it, because the stamp does not hold. */
    heldSince: moment(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    foreignKey({ columns: [table.organizationId, table.certificateId], foreignColumns: [certificates.organizationId, certificates.id] }),
    index().on(table.organizationId, table.certificateId),
    index("assignment_policies_rollout_index").on(table.organizationId, table.rolloutId).where(sql`rollout_id is not null`),
    index("assignment_policies_held_index").on(table.organizationId).where(sql`held_since is not null`),
    index("assignment_policies_unapplied_index").on(table.organizationId, table.id).where(sql`applied_up_to is not null`),
  ],
);

/**
 * New agents, and those with other labels than before: all policies are to review them. Appended to, so that writers do not
 * wait for each other.
 */
export const relabelledAgents = pgTable(
  "relabelled_agents",
  { organizationId: organizationId(), id: bigint({ mode: "number" }).generatedByDefaultAsIdentity(), agentId: uuid().notNull() },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

/** Agents on which something else has the place of a policy that matches them. */
export const policyConflicts = pgTable(
  "policy_conflicts",
  { organizationId: organizationId(), policyId: uuid().notNull(), agentId: uuid().notNull() },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.policyId, table.agentId] }),
    foreignKey({ columns: [table.organizationId, table.policyId], foreignColumns: [assignmentPolicies.organizationId, assignmentPolicies.id] }).onDelete(
      "cascade",
    ),
  ],
);
