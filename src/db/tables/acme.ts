import { index, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, id, moment, now } from "./columns";

/** The server's answers at /.well-known/acme-challenge while orders are validated. The CA makes the token, and knows no organizations. */
export const acmeHttpAnswers = pgTable(
  "acme_http_answers",
  {
    token: text().primaryKey(),
    organizationId: uuid().notNull(),
    requestId: uuid().notNull(),
    keyAuthorization: text().notNull(),
    /** The name that it proves, and the registered domain of that. */
    name: text().notNull().default(""),
    domain: text().notNull().default(""),
    expiresAt: moment().notNull(),
    /** Proves that a server had the token from the CA, for the account of the issuer. */
    stamp: bytes(),
  },
  (table) => [index().on(table.organizationId, table.requestId)],
);

/** Challenges that the agent of a request is to answer, until the request's proofs are taken away. */
export const hostChallenges = pgTable(
  "host_challenges",
  {
    organizationId: uuid().notNull(),
    id: id(),
    requestId: uuid().notNull(),
    /** The name that is proven. */
    name: text().notNull(),
    token: text().notNull(),
    /** Of the account key. */
    thumbprint: text().notNull(),
    /** Proves that a server had the token from the CA, and that the account is the issuer's. */
    stamp: bytes(),
    shownAt: moment(),
    /** Why the agent does not show it, in its words. */
    fault: text(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), uniqueIndex().on(table.organizationId, table.requestId, table.token)],
);

/** The organization (or any) whose names of a registered domain this server proves over HTTP. */
export const domainHolders = pgTable("domain_holders", {
  domain: text().primaryKey(),
  /** Null: any organization. */
  organizationId: uuid(),
  /** How long the certificates count that prove it; null where platform staff has decided. */
  until: moment(),
  updatedAt: now(),
});
