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

const ofOrganization = {
  organizationId: organizationId(),
  ...event,
  /**
   * The first event of its write: only that one is in the indexes of what all events of the write share, since a thousand
   * entries cost more than the write.
   */
  isFirst: boolean().notNull().default(true),
};

export const auditEvents = pgTable("audit_events", ofOrganization, (table) => [
  primaryKey({ columns: [table.organizationId, table.id] }),
  index("audit_events_action_index").on(table.organizationId, table.action, table.id).where(sql`is_first`),
  index("audit_events_actor_id_index").on(table.organizationId, sql`(actor->>'id')`, table.id).where(sql`is_first`),
  index("audit_events_actor_type_index").on(table.organizationId, sql`(actor->>'type')`, table.id).where(sql`is_first`),
  index("audit_events_target_index").on(table.organizationId, sql`hashtextextended(target_id, 0)`, table.id),
]);

/**
 * New events, without an index, until a job moves them to `audit_events`; it inherits from there, so that a read of that table
 * is one of both.
 */
export const auditTail = pgTable("audit_tail", ofOrganization);

/** The trail of the platform's own staff: events that concern no organization, or several. */
export const platformAuditEvents = pgTable("platform_audit_events", event, (table) => [
  primaryKey({ columns: [table.id] }),
  index().on(table.action, table.id),
  index().on(table.targetId, table.id),
  index("platform_audit_events_actor_id_index").on(sql`(actor->>'id')`, table.id),
  index("platform_audit_events_actor_type_index").on(sql`(actor->>'type')`, table.id),
]);
