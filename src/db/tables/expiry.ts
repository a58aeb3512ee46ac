import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, primaryKey, uuid } from "drizzle-orm/pg-core";
import { moment, now } from "./columns";
import { memberRole } from "./members";
import { organizationId } from "./organizations";

/** The policy for notifications of expiry of an organization. One without a row has the defaults, at version 0. */
export const expiryPolicies = pgTable("expiry_policies", {
  organizationId: organizationId().primaryKey(),
  thresholds: jsonb().notNull(),
  overrides: jsonb().notNull(),
  /** The role that is notified of a certificate without an owner. */
  role: memberRole().notNull(),
  version: integer().notNull().default(1),
  updatedAt: now(),
});

/** All certificates, and when the watch reviews each next. A trigger on `certificates` adds each new one, whichever release stores it. */
export const expiryWatch = pgTable(
  "expiry_watch",
  {
    organizationId: uuid().notNull(),
    certificateId: uuid().notNull(),
    /** Null once no threshold is left. */
    dueAt: moment(),
    /** Of the names, and the end of the validity: what renews the certificate has the same names and ends later. */
    namesHash: uuid().notNull(),
    notAfter: moment().notNull(),
    /** An event of a threshold was recorded, and of neither a renewal nor its end since: then one of that is to be recorded too. */
    isStanding: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.certificateId] }),
    index("expiry_watch_standing_index").on(table.organizationId, table.namesHash).where(sql`is_standing`),
    index("expiry_watch_due_index").on(table.dueAt).where(sql`due_at is not null`),
    index().on(table.organizationId, table.namesHash, table.notAfter),
  ],
);

/** Organizations of which every certificate is to be reviewed once more: those above this id are still to come. */
export const expiryReviews = pgTable("expiry_reviews", { organizationId: uuid().primaryKey(), reviewedUpTo: uuid().notNull() });

/** The reminders of expiry: each certificate and threshold once to the owner, or once to the role that stands for one. */
export const expiryReminders = pgTable(
  "expiry_reminders",
  {
    organizationId: uuid().notNull(),
    certificateId: uuid().notNull(),
    /** The owner, or the nil UUID for the role. */
    addressee: uuid().notNull(),
    /** The days of the threshold; 0 once it has expired. */
    days: integer().notNull(),
    /**
     * When its event was recorded: in the same transaction. The release before this one records it later; until then the column
     * is null.
     */
    recordedAt: moment(),
  },
  (table) => [
    primaryKey({ name: "expiry_reminders_pk", columns: [table.organizationId, table.certificateId, table.addressee, table.days] }),
    index("expiry_reminders_unrecorded_index").on(table.organizationId, table.addressee, table.days).where(sql`recorded_at is null`),
  ],
);
