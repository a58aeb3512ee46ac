import { sql } from "drizzle-orm";
import { index, integer, jsonb, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { id, moment } from "./columns";
import { users } from "./users";

/** Of which notices a user gets mail, and when. One who has no row has the defaults. */
export const notificationPreferences = pgTable("notification_preferences", {
  userId: uuid()
    .primaryKey()
    .references(() => users.id),
  timeZone: text().notNull().default("UTC"),
  digestHour: integer().notNull().default(8),
  /** By kind, where the user has chosen: `at_once`, `daily` or `off`. */
  mail: jsonb().notNull().default({}),
  version: integer().notNull().default(0),
  updatedAt: moment(),
});

/** Users for whom notices wait, and when their next digest is due. A transaction that adds or takes such notices locks this row first. */
export const digests = pgTable("digests", { userId: uuid().primaryKey(), dueAt: moment().notNull() }, (table) => [index().on(table.dueAt)]);

/** Notices that wait for a digest; those that are in a mail which is on its way name it. */
export const digestNotices = pgTable(
  "digest_notices",
  {
    userId: uuid().notNull(),
    noticeId: id(),
    mailId: uuid(),
  },
  (table) => [primaryKey({ columns: [table.userId, table.noticeId] }), index().on(table.mailId).where(sql`mail_id is not null`)],
);
