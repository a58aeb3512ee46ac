import { sql } from "drizzle-orm";
import { boolean, doublePrecision, foreignKey, index, integer, jsonb, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { certificates } from "./certificates";
import { bytes, id, moment, versioned } from "./columns";
import { organizationId } from "./organizations";

export const rolloutStatus = pgEnum("rollout_status", ["running", "halted", "completed", "rolled_back", "rolling_back"]);

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
    /** The assignment of each agent; a rotation copies the predecessor's. */
    assignment: jsonb(),
    rings: jsonb().notNull(),
    /** This ring and those before it are open; the first is 1. */
    openRing: integer().notNull().default(1),
    /** Null: failures do not halt it. */
    haltShare: doublePrecision(),
    successShare: doublePrecision().notNull(),
    status: rolloutStatus().notNull().default("running"),
    /** Why it was halted. */
    reason: text(),
    /** Failures from before do not count. */
    resumedAt: moment(),
    /** True while there is work or something to watch. */
    isBusy: boolean().notNull().default(true),
    /** In a rotation, enabled assignments of the predecessor that the successor is not fit for. */
    skipped: integer().notNull().default(0),
    /** The predecessor is retired once this share has observed the successor, and for so long. */
    retireShare: doublePrecision(),
    holdSeconds: integer(),
    /** Proves that the server ordered what the columns say, its status and its open rings too. */
    stamp: bytes(),
    /** Since when the server does nothing with it, because the stamp does not hold. */
    heldSince: moment(),
    reachedAt: moment(),
    /** The user who started it; null where none did. */
    createdBy: uuid(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    foreignKey({ columns: [table.organizationId, table.certificateId], foreignColumns: [certificates.organizationId, certificates.id] }),
    foreignKey({ columns: [table.organizationId, table.predecessorId], foreignColumns: [certificates.organizationId, certificates.id] }),
    index().on(table.organizationId, table.predecessorId, table.id),
    uniqueIndex("rollouts_open_rotation_index").on(table.organizationId, table.predecessorId).where(sql`status in ('running', 'halted', 'completed')`),
    index("rollouts_held_index").on(table.organizationId).where(sql`held_since is not null`),
    index("rollouts_busy_index").on(table.organizationId, table.id).where(sql`is_busy`),
  ],
);

/**
 * The steps of a rollout: the places of its certificate, with their rings. They are made by the ten thousand and no rollout is
 * deleted: hence no foreign key.
 */
export const rolloutSteps = pgTable(
  "rollout_steps",
  {
    organizationId: uuid().notNull(),
    rolloutId: uuid().notNull(),
    agentId: uuid().notNull(),
    /** The agent's id again, or the source's. */
    id: uuid().notNull(),
    /** In a rotation, the predecessor's assignment. */
    sourceId: uuid(),
    ring: integer().notNull(),
    /** The assignment of the certificate, from when the step was taken: a new one, or the source itself, changed. */
    assignmentId: uuid(),
    /** True when the rollout made the assignment, and may delete it. */
    isMade: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.rolloutId, table.agentId, table.id] }),
    index("rollout_steps_waiting_index").on(table.organizationId, table.rolloutId, table.ring, table.agentId, table.id).where(sql`assignment_id is null`),
  ],
);
