import { sql } from "drizzle-orm";
import { boolean, index, integer, pgEnum, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { moment, now } from "./columns";

export const renewalState = pgEnum("renewal_state", ["scheduled", "ordered", "failed", "issued", "renewed", "ended"]);

/** Certificates that an issuer looks after. Triggers add what is issued with autoRenew, and have the job review what changes. */
export const renewals = pgTable(
  "renewals",
  {
    organizationId: uuid().notNull(),
    certificateId: uuid().notNull(),
    issuerId: uuid().notNull(),
    /** The request whose names, key, profile and deployment the next one has. */
    templateId: uuid().notNull(),
    state: renewalState().notNull().default("scheduled"),
    /** True when the job has planned it; before, `renewAt` is the time of planning. */
    isPlanned: boolean().notNull().default(false),
    /** When the request for the certificate wants it renewed. */
    askedAt: moment(),
    /** The CA's window (RFC 9773), and the time to ask for it again; null where the issuer is no such CA. */
    windowStart: moment(),
    windowEnd: moment(),
    explanationUrl: text(),
    askWindowAt: moment(),
    renewAt: moment().notNull(),
    lateAt: moment().notNull(),
    /** Since when it is late. */
    lateSince: moment(),
    /** After a failure: when it is ordered again. */
    retryAt: moment(),
    /**
     * The next review; null while only a change makes a difference. Named `look_at` in the database, where the release before
     * writes it.
     */
    reviewAt: moment("look_at"),
    /** Requests in a row that failed, and why the last one did. */
    failures: integer().notNull().default(0),
    failure: text(),
    /** The last request that is to renew it, and the certificate that came of it. */
    requestId: uuid(),
    successorId: uuid(),
    /** Once its host has the successor: when the certificate is retired. */
    retireAt: moment(),
    createdAt: now(),
    updatedAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.certificateId] }),
    index("renewals_look_index").on(table.reviewAt).where(sql`look_at is not null and state <> 'issued'`),
    index("renewals_look_of_issuer_index").on(table.organizationId, table.issuerId, table.reviewAt).where(sql`look_at is not null and state <> 'issued'`),
    index("renewals_issued_index").on(table.reviewAt).where(sql`state = 'issued'`),
    index("renewals_ask_window_index").on(table.askWindowAt).where(sql`ask_window_at is not null`),
    index("renewals_open_index").on(table.organizationId, table.renewAt, table.certificateId).where(sql`state in ('scheduled', 'ordered', 'failed', 'issued')`),
    index("renewals_late_index").on(table.organizationId, table.renewAt, table.certificateId).where(sql`late_since is not null`),
    index("renewals_state_index").on(table.organizationId, table.state, table.renewAt, table.certificateId),
    // What is renewed or has ended stays for good, and is read apart from what an issuer is still to renew.
    index("renewals_open_of_issuer_index")
      .on(table.organizationId, table.issuerId, table.renewAt, table.certificateId)
      .where(sql`state in ('scheduled', 'ordered', 'failed', 'issued')`),
    index("renewals_ended_of_issuer_index")
      .on(table.organizationId, table.issuerId, table.state, table.renewAt, table.certificateId)
      .where(sql`state in ('renewed', 'ended')`),
  ],
);

/** The standing of each issuer: after some failures in a row no renewal is ordered before `restsUntil`, and then one alone. */
export const renewalRests = pgTable(
  "renewal_rests",
  { organizationId: uuid().notNull(), issuerId: uuid().notNull(), failures: integer().notNull(), restsUntil: moment() },
  (table) => [primaryKey({ columns: [table.organizationId, table.issuerId] })],
);

/** Issuers that were deleted, and still have renewals that are to end. A trigger on `issuers` adds them. */
export const renewalEnds = pgTable("renewal_ends", { organizationId: uuid().notNull(), issuerId: uuid().notNull() }, (table) => [
  primaryKey({ columns: [table.organizationId, table.issuerId] }),
]);
