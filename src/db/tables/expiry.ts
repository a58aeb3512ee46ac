import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, primaryKey, uuid } from "drizzle-orm/pg-core";
import { moment, now } from "./columns";
import { memberRole } from "./members";
import { organizationId } from "./organizations";

/** When an organization is told of expiry. One without a row has the defaults, at version 0. */
export const expiryPolicies = pgTable("expiry_policies", {
  organizationId: organizationId().primaryKey(),
  thresholds: jsonb().notNull(),
  overrides: jsonb().notNull(),
  /** Who is told of a certificate without an owner. */
  role: memberRole().notNull(),
  version: integer().notNull().default(1),
  updatedAt: now(),
});

/** All certificates, and when the watch looks at each next. A trigger on `certificates` adds each new one, whichever release stores it. */
export const expiryWatch = pgTable(
  "expiry_watch",
  {
    organizationId: uuid().notNull(),
    certificateId: uuid().notNull(),
    /** Null once there is nothing more to tell. */
    dueAt: moment(),
    /** Of the names, and the end of the validity: what renews the certificate has the same names and ends later. */
    namesHash: uuid().notNull(),
    notAfter: moment().notNull(),
    /** A threshold was told of, and neither a renewal nor its end since: then that is to be told too. */
    isStanding: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.certificateId] }),
    index("expiry_watch_standing_index").on(table.organizationId, table.namesHash).where(sql`is_standing`),
    index("expiry_watch_due_index").on(table.dueAt).where(sql`due_at is not null`),
    index().on(table.organizationId, table.namesHash, table.notAfter),
  ],
);

/** Organizations of which every certificate is to be looked at once more: those above this id are still to come. */
export const expiryReviews = pgTable("expiry_reviews", { organizationId: uuid().primaryKey(), reviewedUpTo: uuid().notNull() });

/** What was told: each certificate and threshold once to its owner, or once to the role that stands for one. */
export const expiryTellings = pgTable(
  "expiry_tellings",
  {
    organizationId: uuid().notNull(),
    certificateId: uuid().notNull(),
    /** The owner, or the nil UUID for the role. */
    addressee: uuid().notNull(),
    /** The days of the threshold; 0 once it has expired. */
    days: integer().notNull(),
    /** Null until a notice lists it. */
    toldAt: moment(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.certificateId, table.addressee, table.days] }),
    index("expiry_tellings_untold_index").on(table.organizationId, table.addressee, table.days).where(sql`told_at is null`),
  ],
);
