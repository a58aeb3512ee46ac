import { sql } from "drizzle-orm";
import { boolean, index, integer, jsonb, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { tsvector } from "./certificates";
import { bytes, connected, id, moment, now, versioned } from "./columns";
import { organizationId } from "./organizations";

/** The issuers of certificates. */
export const issuers = pgTable(
  "issuers",
  {
    organizationId: organizationId(),
    id: id(),
    ...connected(),
    /** The driver's own: at an ACME directory its account. */
    account: jsonb(),
    /**
     * Failures in a row of the issuer itself (a rate limit, a CA that is away); nothing asks it before `retryAt`, and then one
     * request alone.
     */
    failures: integer().notNull().default(0),
    retryAt: moment(),
    /** When one of its requests is due next; null where none waits. */
    dueAt: moment(),
    testedAt: moment(),
    testOutcome: text(),
    testMessage: text(),
    /** Proves that a server has set its kind and config. */
    stamp: bytes(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.organizationId, table.name),
    uniqueIndex().on(table.organizationId, table.nameKey),
    index("issuers_due_index").on(table.dueAt).where(sql`due_at is not null`),
  ],
);

export const requestStatus = pgEnum("certificate_request_status", ["pending", "validating", "issuing", "issued", "failed", "cancelled"]);
export const keyLocation = pgEnum("key_location", ["agent", "server", "csr"]);
export const requestApproval = pgEnum("certificate_request_approval", ["none", "awaited", "given", "refused"]);

/** Orders of certificates, and how far each has come. */
export const certificateRequests = pgTable(
  "certificate_requests",
  {
    organizationId: organizationId(),
    id: id(),
    issuerId: uuid().notNull(),
    names: jsonb().notNull(),
    /** SHA-256 in hexadecimal of the names in order: whatever has the same names is about the same. */
    namesHash: text().notNull(),
    keyAlgorithm: text().notNull(),
    keyLocation: keyLocation().notNull(),
    /** PKCS #10 in DER, once it is there. */
    csr: bytes(),
    sealedPrivateKey: bytes(),
    /** The host that makes the key, and the assignment that is made for the certificate. */
    agentId: uuid(),
    deployment: jsonb(),
    /** Proves that a server took the order, for this key, and what becomes of its certificate. */
    stamp: bytes(),
    profile: text(),
    autoRenew: boolean().notNull(),
    renewAt: moment(),
    /** The certificate that it renews. */
    replaces: uuid(),
    status: requestStatus().notNull().default("pending"),
    approval: requestApproval().notNull().default("none"),
    reason: text(),
    certificateId: uuid(),
    /** The driver's own, which no answer shows. */
    progress: jsonb(),
    /** Failures in a row that are worth another try, and since when. */
    attempts: integer().notNull().default(0),
    failingSince: moment(),
    /** When the next step is due; null where it waits for a person or an agent, or nothing is left to do. */
    dueAt: moment(),
    /** Until when a server has it; a killed one lets it go then. */
    claimedUntil: moment(),
    /** The actors of the audit trail; who approved it with the digest of what was approved (`terms`), which no answer shows. */
    createdBy: jsonb().notNull(),
    approvedBy: jsonb(),
    /** Null while it is open. */
    endedAt: moment(),
    /** Its names; the organization is a word too, so that one index serves a search within it. */
    search: tsvector().notNull(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    // One order at a time for the same names; hosts that have a key each have an order each.
    uniqueIndex("certificate_requests_open_index")
      .on(table.organizationId, table.issuerId, table.namesHash, sql`coalesce(agent_id, '00000000-0000-0000-0000-000000000000')`)
      .where(sql`ended_at is null`),
    // One renewal of a certificate at a time.
    uniqueIndex("certificate_requests_renewal_index").on(table.organizationId, table.replaces).where(sql`replaces is not null and ended_at is null`),
    index("certificate_requests_due_index").on(table.organizationId, table.issuerId, table.dueAt).where(sql`due_at is not null`),
    index("certificate_requests_order_index").on(table.organizationId, table.issuerId, sql`(progress->>'orderUrl')`).where(sql`progress is not null`),
    index("certificate_requests_status_index").on(table.organizationId, table.status, table.id).where(sql`status <> 'issued'`),
    index().on(table.organizationId, table.issuerId, table.id),
    index("certificate_requests_agent_index").on(table.organizationId, table.agentId).where(sql`agent_id is not null and ended_at is null`),
    index("certificate_requests_certificate_index").on(table.organizationId, table.certificateId).where(sql`certificate_id is not null`),
    index().using("gin", table.search),
  ],
);

/** The steps of each request, in order. */
export const certificateRequestSteps = pgTable(
  "certificate_request_steps",
  {
    organizationId: organizationId(),
    requestId: uuid().notNull(),
    id: id(),
    status: requestStatus().notNull(),
    reason: text(),
    at: now(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.requestId, table.id] })],
);

/** The rules for orders in an organization. One without a row may order anything, without an approval; that has version 0. */
export const issuancePolicies = pgTable("issuance_policies", {
  organizationId: organizationId().primaryKey(),
  /** Null for all. */
  allowedDomains: jsonb(),
  allowedAddresses: jsonb(),
  allowedKeyAlgorithms: jsonb(),
  allowedKeyLocations: jsonb(),
  needsApproval: boolean().notNull().default(false),
  /** A policy that allows more, with its id, who proposed it and when; it waits for another admin. */
  proposal: jsonb(),
  version: integer().notNull().default(1),
  updatedAt: now(),
});
