import { jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { bytes, moment, now } from "./columns";

/** Mails that shall go out; one that was sent, given up or withdrawn has no row. */
export const mails = pgTable("mails", {
  id: uuid().primaryKey(),
  cause: jsonb().notNull(),
  /** Addressee, subject and text, sealed: an invitation holds a token. */
  sealedContent: bytes().notNull(),
  lastFailure: text(),
  expiresAt: moment().notNull(),
  queuedAt: now(),
});
