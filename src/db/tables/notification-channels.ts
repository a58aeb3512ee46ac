import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgEnum, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { id, moment, now, versioned } from "./columns";
import { memberRole } from "./members";
import { severity } from "./notifications";

export const deliveryState = pgEnum("delivery_state", ["pending", "delivered", "failed"]);

/** Which notifications go where, beyond those whom each concerns: to a channel, to some members, or to all of a role. */
export const notificationRoutes = pgTable(
  "notification_routes",
  {
    organizationId: uuid().notNull(),
    id: id(),
    name: text().notNull(),
    /** Null for all kinds. */
    kinds: jsonb(),
    /** At least. */
    severity: severity().notNull().default("info"),
    /** A label selector, and what it is as a jsonpath predicate. */
    selector: text(),
    selectorPath: text(),
    connectionId: uuid(),
    userIds: jsonb(),
    role: memberRole(),
    enabled: boolean().notNull().default(true),
    ...versioned(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), index().on(table.organizationId, table.connectionId)],
);

/** The deliveries of channels and their outcome. Receivers recognize a repeated one by its id. */
export const notificationDeliveries = pgTable(
  "notification_deliveries",
  {
    organizationId: uuid().notNull(),
    id: id(),
    routeId: uuid().notNull(),
    connectionId: uuid().notNull(),
    content: jsonb().notNull(),
    /** The state that it is about, where the channel keeps incidents, and whether it says that it has ended. */
    incidentKey: text(),
    isResolve: boolean().notNull().default(false),
    isTest: boolean().notNull().default(false),
    state: deliveryState().notNull().default("pending"),
    /** Of each attempt: when, its status and why it failed. */
    attempts: jsonb().notNull().default([]),
    /** The recipients, of several, that have it already. */
    recipientsDone: jsonb().notNull().default([]),
    reason: text(),
    nextAttemptAt: moment(),
    /** When it was queued, or queued again, and when it was tried first since. */
    queuedAt: now(),
    triedAt: moment(),
    createdAt: now(),
    endedAt: moment(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    index().on(table.organizationId, table.routeId, table.id),
    index("notification_deliveries_state_index").on(table.organizationId, table.routeId, table.state, table.id),
    index("notification_deliveries_pending_index").on(table.organizationId, table.connectionId, table.nextAttemptAt, table.id).where(sql`state = 'pending'`),
    index("notification_deliveries_incident_index")
      .on(table.organizationId, table.connectionId, table.incidentKey)
      .where(sql`state = 'pending' and incident_key is not null`),
    index("notification_deliveries_created_at_index").on(table.createdAt),
  ],
);

/** The deliveries of a connection that notifications go to. One server delivers to it at a time. */
export const notificationChannels = pgTable(
  "notification_channels",
  {
    organizationId: uuid().notNull(),
    connectionId: uuid().notNull(),
    /** When something is to be delivered next; null where nothing waits. */
    dueAt: moment(),
    /** Until when a server has it; a killed one lets it go then. */
    claimedUntil: moment(),
    /** Failures in a row that are worth another try; after each it rests for longer. */
    failures: integer().notNull().default(0),
    /** Since when nothing was delivered but something failed. */
    failingSince: moment(),
    lastReason: text(),
    /** The moment at which an event was recorded that it fails; named `told_at` in the database, where the release before writes it. */
    failureRecordedAt: moment("told_at"),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.connectionId] }),
    index("notification_channels_due_index").on(table.dueAt).where(sql`due_at is not null`),
    index("notification_channels_failing_index").on(table.failingSince).where(sql`failing_since is not null and told_at is null`),
  ],
);

/** The states that a channel keeps incidents of, by subject. An incident ends with the last of its subjects. */
export const notificationIncidents = pgTable(
  "notification_incidents",
  {
    organizationId: uuid().notNull(),
    condition: text().notNull(),
    subjectId: uuid().notNull(),
    connectionId: uuid().notNull(),
    key: text().notNull(),
    routeId: uuid().notNull(),
  },
  (table) => [
    primaryKey({ name: "notification_incidents_pk", columns: [table.organizationId, table.condition, table.subjectId, table.connectionId, table.key] }),
    index().on(table.organizationId, table.connectionId, table.key),
  ],
);
