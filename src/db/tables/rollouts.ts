import { sql } from "drizzle-orm";
import { boolean, doublePrecision, foreignKey, index, integer, jsonb, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { certificates } from "./certificates";
import { id, moment, now } from "./columns";
import { organizationId } from "./organizations";

export const rolloutStatus = pgEnum("rollout_status", ["running", "halted", "completed", "rolled_back"]);

/** A certificate on its way to many agents, ring by ring. One with a predecessor is a rotation. */
export const rollouts = pgTable(
  "rollouts",
  {
    organizationId: organizationId(),
    id: id(),
    name: text().notNull(),
    certificateId: uuid().notNull(),
    /** The certificate that it takes the place of. */
    predecessorId: uuid(),
    /** What each agent gets; a rotation copies what the predecessor has there. */
    assignment: jsonb(),
    rings: jsonb().notNull(),
    /** This ring and those before it are open; the first is 1. */
    openRing: integer().notNull().default(1),
    haltShare: doublePrecision().notNull(),
    successShare: doublePrecision().notNull(),
    status: rolloutStatus().notNull().default("running"),
    /** Why it was halted. */
    reason: text(),
    /** Failures from before do not count. */
    resumedAt: moment(),
    /** Agents that have the certificate in that place already. */
    skipped: integer().notNull().default(0),
    /** The predecessor is retired once this share has observed the successor, and for so long. */
    retireShare: doublePrecision(),
    holdSeconds: integer(),
    reachedAt: moment(),
    version: integer().notNull().default(1),
    createdAt: now(),
    updatedAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    foreignKey({ columns: [table.organizationId, table.certificateId], foreignColumns: [certificates.organizationId, certificates.id] }),
    foreignKey({ columns: [table.organizationId, table.predecessorId], foreignColumns: [certificates.organizationId, certificates.id] }),
    index().on(table.organizationId, table.predecessorId, table.id),
    uniqueIndex("rollouts_open_rotation_index").on(table.organizationId, table.predecessorId).where(sql`status <> 'rolled_back'`),
    index("rollouts_running_index").on(table.organizationId, table.id).where(sql`status = 'running'`),
  ],
);

/** Which ring an assignment is in, for ever. Where the assignment is gone, the step counts no more. */
export const rolloutSteps = pgTable(
  "rollout_steps",
  {
    organizationId: uuid().notNull(),
    rolloutId: uuid().notNull(),
    agentId: uuid().notNull(),
    assignmentId: uuid().notNull(),
    /** In a rotation, the predecessor's assignment: the same one where only its certificate is replaced. */
    sourceId: uuid(),
    ring: integer().notNull(),
    /** Whether the rollout made the assignment, and may delete it. */
    isMade: boolean().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.rolloutId, table.agentId, table.assignmentId] }),
    foreignKey({ columns: [table.organizationId, table.rolloutId], foreignColumns: [rollouts.organizationId, rollouts.id] }),
  ],
);
