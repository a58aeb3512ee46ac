import { sql } from "drizzle-orm";
import { boolean, date, doublePrecision, index, integer, jsonb, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, exactMoment, id, moment, now, versioned } from "./columns";
import { organizationId } from "./organizations";

// Samples of metrics live in "metric_samples", which a migration of its own makes: drizzle knows no partitions.

export const controlStatus = pgEnum("control_status", ["not_started", "in_progress", "implemented", "not_applicable"]);

/** A control that was changed; every other one is not_started. */
export const controls = pgTable(
  "controls",
  {
    organizationId: organizationId(),
    controlId: uuid().notNull(),
    framework: text().notNull(),
    status: controlStatus().notNull(),
    note: text(),
    evidence: jsonb().notNull().default([]),
    ownerId: uuid(),
    dueDate: date(),
    /** The day on which the next event of the due date is recorded. A trigger sets it. */
    lookOn: date(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.controlId] }),
    index().on(table.organizationId, table.framework),
    index("controls_look_index").on(table.lookOn).where(sql`look_on is not null`),
  ],
);

/** A control after each change; `version` is the control's. */
export const controlChanges = pgTable(
  "control_changes",
  {
    organizationId: organizationId(),
    controlId: uuid().notNull(),
    version: integer().notNull(),
    status: controlStatus().notNull(),
    note: text(),
    evidence: jsonb().notNull(),
    ownerId: uuid(),
    dueDate: date(),
    actor: jsonb().notNull(),
    at: now(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.controlId, table.version] })],
);

export const aiSystems = pgTable(
  "ai_systems",
  { organizationId: organizationId(), id: id(), key: text().notNull(), createdAt: now(), lastSampleAt: exactMoment() },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), uniqueIndex().on(table.organizationId, table.key)],
);

/** The range that a metric of an AI system is to stay in. */
export const metricThresholds = pgTable(
  "metric_thresholds",
  {
    organizationId: organizationId(),
    id: id(),
    system: text().notNull(),
    metric: text().notNull(),
    min: doublePrecision(),
    max: doublePrecision(),
    /** The moment of the newest sample that was judged. */
    judgedAt: exactMoment(),
    isOutside: boolean().notNull().default(false),
    ...versioned(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), uniqueIndex().on(table.organizationId, table.system, table.metric)],
);

export const ingestKeys = pgTable(
  "ingest_keys",
  {
    organizationId: organizationId(),
    id: id(),
    name: text().notNull(),
    /** SHA-256 of the key, for a bearer; the key itself, sealed, for checking signatures. */
    keyHash: bytes().notNull(),
    sealedKey: bytes().notNull(),
    createdAt: now(),
    revokedAt: moment(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.keyHash),
    index("ingest_keys_live_index").on(table.organizationId).where(sql`revoked_at is null`),
  ],
);

/** Webhook deliveries that were taken, with how many samples each brought, so that a repeated id adds nothing. */
export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  { organizationId: organizationId(), webhookId: text().notNull(), accepted: integer().notNull(), receivedAt: now() },
  (table) => [primaryKey({ columns: [table.organizationId, table.webhookId] }), index().on(table.receivedAt)],
);
