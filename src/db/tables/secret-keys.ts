import { boolean, integer, pgTable, text } from "drizzle-orm/pg-core";
import { bytes, moment, now } from "./columns";

/** The keys that sealed values may name, each with a value that it sealed: who cannot open it has the wrong SECRETS_KEY. */
export const secretKeys = pgTable("secret_keys", { keyId: text().primaryKey(), checkValue: bytes().notNull(), createdAt: now() });

/** Since when stamps of the first level are demanded. One row at most; its own stamp proves what it says. */
export const stamping = pgTable("stamping", {
  isOnly: boolean().primaryKey().default(true),
  /** Until then the server takes what stands in the database as ordered, and stamps it; null once that is over. */
  trustsUntil: moment(),
  stamp: bytes().notNull(),
});

/** The same of each level that came later. A row of its own for each, because the release before writes the row of `stamping`. */
export const stampingLevels = pgTable("stamping_levels", { level: integer().primaryKey(), trustsUntil: moment(), stamp: bytes().notNull() });
