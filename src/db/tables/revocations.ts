import { sql } from "drizzle-orm";
import { index, integer, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { id, moment, now } from "./columns";

export const caRevocationState = pgEnum("ca_revocation_state", ["pending", "failing", "told", "expired"]);

/** Revocations of certificates that a CA elsewhere has issued, and is to revoke too. A trigger on `certificates` adds them. */
export const caRevocations = pgTable(
  "ca_revocations",
  {
    organizationId: uuid().notNull(),
    id: id(),
    certificateId: uuid().notNull(),
    issuerId: uuid().notNull(),
    reason: text().notNull(),
    state: caRevocationState().notNull().default("pending"),
    /** Attempts in a row that failed, since when, and why the last one did. */
    attempts: integer().notNull().default(0),
    failingSince: moment(),
    failure: text(),
    /** When the CA is asked next; null once that is over. */
    dueAt: moment().default(sql`now()`),
    toldAt: moment(),
    createdAt: now(),
    updatedAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex("ca_revocations_certificate_index").on(table.organizationId, table.certificateId),
    index("ca_revocations_due_index").on(table.dueAt).where(sql`due_at is not null`),
    index("ca_revocations_state_index").on(table.organizationId, table.state, table.id),
    index("ca_revocations_issuer_index").on(table.organizationId, table.issuerId).where(sql`due_at is not null`),
  ],
);
