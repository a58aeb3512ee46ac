import { integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { id, now } from "./columns";

export const organizations = pgTable("organizations", {
  id: id().primaryKey(),
  name: text().notNull(),
  seatLimit: integer(),
  version: integer().notNull().default(1),
  createdAt: now(),
});

/**
 * No foreign key: its check was a third of a statement that writes a thousand rows, and locked the organization's row.
 * Organizations are never deleted, and writers have found theirs by key or guard.
 */
export const organizationId = () => uuid().notNull();
