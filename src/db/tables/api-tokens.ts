import { sql } from "drizzle-orm";
import { index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { bytes, exactMoment, id, moment, now } from "./columns";
import { memberRole } from "./members";
import { organizationId } from "./organizations";

/** Machine credentials of an organization. Revoking one deletes its row; the audit trail keeps who made it. */
export const apiTokens = pgTable(
  "api_tokens",
  {
    organizationId: organizationId(),
    id: id(),
    name: text().notNull(),
    role: memberRole().notNull(),
    /** SHA-256 of the token. */
    tokenHash: bytes().notNull(),
    createdBy: jsonb().notNull(),
    expiresAt: exactMoment(),
    lastUsedAt: moment(),
    stamp: bytes(),
    /** Since when the server takes the token for no admin's, because the stamp does not hold. */
    heldSince: moment(),
    version: integer().notNull().default(1),
    createdAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.tokenHash),
    index("api_tokens_held_index").on(table.organizationId).where(sql`held_since is not null`),
  ],
);
