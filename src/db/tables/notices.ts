import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { id, moment, now } from "./columns";
import { alertState } from "./notifications";
import { users } from "./users";

/** How many notices a user has. A page of the inbox is found by position, and nothing is counted per request. */
export const inboxes = pgTable("inboxes", {
  userId: uuid()
    .primaryKey()
    .references(() => users.id),
  total: integer().notNull().default(0),
  unread: integer().notNull().default(0),
  /** Everything up to this position was read at once, at this time. */
  readUpTo: integer().notNull().default(0),
  readUpToAt: moment(),
  /** When the last examples were asked for; they are limited. */
  recentExamples: moment().array().notNull().default([]),
});

export const notices = pgTable(
  "notices",
  {
    /** No foreign key: a notice takes its user and position from the inbox's row in the same statement. */
    userId: uuid().notNull(),
    /** 1 for the user's first notice, and so on without a gap; notices are never deleted. */
    position: integer().notNull(),
    id: id(),
    organizationId: uuid(),
    kind: text().notNull(),
    title: text().notNull(),
    message: text().notNull(),
    data: jsonb().notNull().default({}),
    /** The path of what it is about. */
    link: text(),
    example: boolean().notNull().default(false),
    notificationId: uuid(),
    /** Of the state it stands for, if for one. */
    state: alertState(),
    readAt: moment(),
    createdAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.userId, table.position] }),
    uniqueIndex().on(table.userId, table.id),
    index("notices_unread_index").on(table.userId, table.position).where(sql`read_at is null`),
    index("notices_state_index").on(table.notificationId).where(sql`state <> 'cleared'`),
  ],
);
