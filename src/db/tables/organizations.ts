import { integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { id, now } from "./columns";

export const organizations = pgTable("organizations", {
  id: id().primaryKey(),
  name: text().notNull(),
  seatLimit: integer(),
  version: integer().notNull().default(1),
  createdAt: now(),
});

export const organizationId = () =>
  uuid()
    .notNull()
    .references(() => organizations.id);
