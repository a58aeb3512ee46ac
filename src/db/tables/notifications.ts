import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgEnum, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { id, moment, now } from "./columns";
import { memberRole } from "./members";

export const severity = pgEnum("notification_severity", ["info", "warning", "critical"]);
/** In the order in which a notice of several subjects shows them: open while any is. */
export const alertState = pgEnum("alert_state", ["open", "snoozed", "acknowledged", "cleared"]);

/** The events that causes record in their own transactions. A job dispatches them within a second. */
export const notificationEvents = pgTable(
  "notification_events",
  {
    organizationId: uuid().notNull(),
    id: id(),
    kind: text().notNull(),
    /** The state has ended that this kind begins: an agent that was silent reports. */
    isEnd: boolean().notNull().default(false),
    /** A snooze has ended: it is dispatched although its state stands. */
    isReminder: boolean().notNull().default(false),
    subjectId: uuid().notNull(),
    /** The user it concerns; else the role, else the role of its kind. With both, both are notified. */
    userId: uuid(),
    role: memberRole(),
    data: jsonb().notNull().default({}),
    createdAt: now(),
    /** Named `told_at` in the database, where the release before writes it. */
    dispatchedAt: moment("told_at"),
    /** The notification that lists it; null where it has no recipient. */
    notificationId: uuid(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    index("notification_events_untold_index").on(table.organizationId, table.kind, table.id).where(sql`told_at is null`),
    index().on(table.organizationId, table.subjectId),
    index().on(table.organizationId, table.notificationId),
  ],
);

/** The notices that were sent: one event, or several of one kind that came together. */
export const notifications = pgTable(
  "notifications",
  {
    organizationId: uuid().notNull(),
    id: id(),
    kind: text().notNull(),
    severity: severity().notNull(),
    title: text().notNull(),
    message: text().notNull(),
    data: jsonb().notNull(),
    link: text(),
    /** The only subject; null where there are several. */
    subjectId: uuid(),
    subjects: integer().notNull(),
    createdAt: now(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);

/** States of subjects that stand until they end: a certificate that expires, an agent that is silent. */
export const alerts = pgTable(
  "alerts",
  {
    organizationId: uuid().notNull(),
    condition: text().notNull(),
    subjectId: uuid().notNull(),
    state: alertState().notNull().default("open"),
    /** When a snooze ends. */
    until: moment(),
    reason: text(),
    changedBy: uuid(),
    openedAt: now(),
    changedAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.condition, table.subjectId] }),
    index("alerts_full_index").on(table.organizationId).where(sql`condition = 'seat limit' and state <> 'cleared'`),
    index("alerts_standing_index").on(table.organizationId, table.subjectId).where(sql`state <> 'cleared'`),
    index("alerts_snoozed_index").on(table.until).where(sql`state = 'snoozed'`),
  ],
);
