import { boolean, index, integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { bytes, moment, now } from "./columns";

export const users = pgTable("users", {
  id: uuid().primaryKey(),
  email: text(),
  /** The last address that a token said was verified. */
  verifiedEmail: text(),
  displayName: text(),
  fullName: text(),
  platformAdmin: boolean().notNull().default(false),
  platformAdminStamp: bytes(),
  /** Since when the server takes the user for no platform admin, because the stamp does not hold. */
  platformAdminHeldSince: moment(),
  /** Of the profile: names and e-mail address. */
  version: integer().notNull().default(1),
  createdAt: now(),
  updatedAt: now(),
});

/** Signed-out tokens by their SHA-256, kept until they would have expired anyway. */
export const revokedTokens = pgTable("revoked_tokens", { tokenHash: bytes().primaryKey(), revokedAt: now(), expiresAt: moment().notNull() }, (table) => [
  index().on(table.revokedAt),
  index().on(table.expiresAt),
]);
