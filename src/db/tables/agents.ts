import { sql } from "drizzle-orm";
import { boolean, foreignKey, index, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { certificates } from "./certificates";
import { assigned, bytes, id, moment, versioned } from "./columns";
import { organizationId } from "./organizations";

export const agents = pgTable(
  "agents",
  {
    organizationId: organizationId(),
    id: id(),
    name: text().notNull(),
    labels: jsonb().notNull().default({}),
    /** SHA-256 of its long-lived token, where it has one. */
    tokenHash: bytes(),
    /** The Ed25519 key that its host made when it joined, base64url. */
    publicKey: text(),
    /** When its token or key ends, because another way in was asked for. */
    accessEndsAt: moment(),
    /** When a credential of it was last shown without its key. */
    credentialMisusedAt: moment(),
    /** Proves that a server gave the agent its token or key, and when that ends. */
    stamp: bytes(),
    /** Since when the server lets the agent in no more, because the stamp does not hold. */
    heldSince: moment(),
    host: jsonb(),
    lastSeenAt: moment(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.tokenHash),
    uniqueIndex().on(table.publicKey),
    index("agents_held_index").on(table.organizationId).where(sql`held_since is not null`),
  ],
);

export const assignments = pgTable(
  "assignments",
  {
    organizationId: organizationId(),
    id: id(),
    agentId: uuid().notNull(),
    ...assigned(),
    /** True when the host made the private key and keeps it; the assignment of a certificate request. */
    keyOnHost: boolean().notNull().default(false),
    /** The policy that it belongs to; no one else changes it. */
    policyId: uuid(),
    ...versioned(),
    reportedState: text(),
    reportedFingerprint: text(),
    reportedMessage: text(),
    reportedAt: moment(),
    /** Reported, and not as it should be, as `drift_reason` judges. A trigger sets it. */
    isAdrift: boolean().notNull().default(false),
    /** When the agent saw it so, by the host's own clock. */
    observedAt: moment(),
    /** Since when it is deleted but for the agent's word that it is gone from the host; it is not enabled then. */
    removingSince: moment(),
    /** The rollout that asked the agent to act, by being rolled back. */
    rollbackId: uuid(),
    /** Proves that the server ordered what the columns say, and that it ordered the removal. */
    stamp: bytes(),
    removalStamp: bytes(),
    /** Since when the server holds it back from its agent, because a stamp does not hold. */
    heldSince: moment(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.agentId, table.id] }),
    foreignKey({ columns: [table.organizationId, table.agentId], foreignColumns: [agents.organizationId, agents.id] }).onDelete("cascade"),
    foreignKey({ columns: [table.organizationId, table.certificateId], foreignColumns: [certificates.organizationId, certificates.id] }),
    uniqueIndex("assignments_place_index")
      .on(table.organizationId, table.agentId, table.certificateId, table.trustStoreType, table.target)
      .where(sql`removing_since is null`),
    index("assignments_rollback_index").on(table.organizationId, table.rollbackId, table.agentId, table.id).where(sql`rollback_id is not null`),
    index().on(table.organizationId, table.certificateId, table.id),
    index("assignments_store_index").on(table.organizationId, table.trustStoreType, table.agentId, table.id),
    index("assignments_certificate_index").on(table.organizationId, table.certificateId, table.agentId, table.id),
    index("assignments_state_index").on(table.organizationId, sql`coalesce(reported_state, 'pending')`, table.agentId, table.id),
    // Small, because Postgres stores equal keys once: all assignments are counted from this index alone.
    index("assignments_counted_index").on(table.organizationId, table.reportedState, table.trustStoreType, table.isAdrift, table.enabled),
    index("assignments_held_index").on(table.organizationId).where(sql`held_since is not null`),
    index("assignments_removing_index").on(table.organizationId).where(sql`removing_since is not null`),
    index("assignments_policy_index").on(table.organizationId, table.policyId, table.agentId, table.id).where(sql`policy_id is not null`),
  ],
);

/** The reports of agents that brought news: ninety days of them, and always the last, which the assignment has too. */
export const deploymentReports = pgTable(
  "deployment_reports",
  {
    organizationId: organizationId(),
    agentId: uuid().notNull(),
    assignmentId: uuid().notNull(),
    id: id(),
    state: text().notNull(),
    observedFingerprint: text(),
    message: text(),
    reportedAt: moment().notNull(),
    observedAt: moment(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.agentId, table.assignmentId, table.id] }),
    foreignKey({
      columns: [table.organizationId, table.agentId, table.assignmentId],
      foreignColumns: [assignments.organizationId, assignments.agentId, assignments.id],
    }).onDelete("cascade"),
    index().on(table.reportedAt),
  ],
);
