import { sql } from "drizzle-orm";
import { boolean, index, jsonb, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { id, now } from "./columns";
import { organizationId } from "./organizations";

const event = {
  id: id(),
  at: now(),
  actor: jsonb().notNull(),
  action: text().notNull(),
  targetType: text().notNull(),
  targetId: text().notNull(),
  requestId: text(),
  details: jsonb().notNull().default({}),
};

export const auditEvents = pgTable(
  "audit_events",
  {
    organizationId: organizationId(),
    ...event,
    /**
     * The events of one write have ids that follow each other, and differ in target and details alone: what they share is indexed for the
     * first of them only, because a thousand entries in each index cost more than all else that the write does.
     */
    isFirst: boolean().notNull().default(true),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    index("audit_events_action_index").on(table.organizationId, table.action, table.id).where(sql`is_first`),
    index("audit_events_actor_id_index").on(table.organizationId, sql`(actor->>'id')`, table.id).where(sql`is_first`),
    index("audit_events_actor_type_index").on(table.organizationId, sql`(actor->>'type')`, table.id).where(sql`is_first`),
    index("audit_events_target_index").on(table.organizationId, sql`hashtextextended(target_id, 0)`, table.id),
  ],
);

/** What concerns no organization, or several: the trail of the platform's own staff. */
export const platformAuditEvents = pgTable("platform_audit_events", event, (table) => [
  primaryKey({ columns: [table.id] }),
  index().on(table.action, table.id),
  index().on(table.targetId, table.id),
  index("platform_audit_events_actor_id_index").on(sql`(actor->>'id')`, table.id),
  index("platform_audit_events_actor_type_index").on(sql`(actor->>'type')`, table.id),
]);
