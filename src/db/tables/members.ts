import { sql } from "drizzle-orm";
import { index, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, id, moment, versioned } from "./columns";
import { organizationId } from "./organizations";
import { users } from "./users";

export const memberRole = pgEnum("member_role", ["ORG_ADMIN", "ORG_MEMBER"]);
export const memberStatus = pgEnum("member_status", ["invited", "active"]);
export const invitationMail = pgEnum("invitation_mail", ["pending", "sent", "failed"]);

export const members = pgTable(
  "members",
  {
    organizationId: organizationId(),
    id: id(),
    userId: uuid().references(() => users.id),
    email: text().notNull(),
    firstName: text(),
    lastName: text(),
    role: memberRole().notNull(),
    status: memberStatus().notNull(),
    invitationTokenHash: bytes(),
    invitationExpiresAt: moment(),
    /** The mail of the latest invitation, how it fared, and why it did not go out. */
    invitationMailId: uuid(),
    invitationMail: invitationMail(),
    invitationMailFailure: text(),
    stamp: bytes(),
    /** Since when the server takes the member for no admin, because the stamp does not hold. */
    heldSince: moment(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.organizationId, table.email),
    uniqueIndex().on(table.organizationId, table.userId),
    index().on(table.userId),
    uniqueIndex().on(table.invitationTokenHash),
    index("members_held_index").on(table.organizationId).where(sql`held_since is not null`),
  ],
);
