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
 * No foreign key: its check for each row was a third of a statement that writes a thousand rows, and it locked the organization's
 * own row. Organizations are never deleted, and none can be unknown: the guard lets a request in for one that exists, and what
 * has no such guard (agents, ingest keys, workers, jobs) takes the organization from a row that it found by its key.
 */
export const organizationId = () => uuid().notNull();
