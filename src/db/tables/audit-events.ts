import { jsonb, pgTable, primaryKey, text } from "drizzle-orm/pg-core";
import { id, now } from "./columns";
import { organizationId } from "./organizations";

export const auditEvents = pgTable(
  "audit_events",
  {
    organizationId: organizationId(),
    id: id(),
    at: now(),
    actor: jsonb().notNull(),
    action: text().notNull(),
    targetType: text().notNull(),
    targetId: text().notNull(),
    requestId: text(),
    details: jsonb().notNull().default({}),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] })],
);
