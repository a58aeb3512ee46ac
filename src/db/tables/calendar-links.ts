import { jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, id, now } from "./columns";

/** Links to the calendar of an organization's expiries. Revoking one deletes its row; the audit trail keeps who made it. */
export const calendarLinks = pgTable(
  "calendar_links",
  {
    organizationId: uuid().notNull(),
    id: id(),
    name: text().notNull(),
    /** SHA-256 of the secret that the link carries. */
    secretHash: bytes().notNull(),
    createdBy: jsonb().notNull(),
    createdAt: now(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), uniqueIndex().on(table.organizationId, table.secretHash)],
);
