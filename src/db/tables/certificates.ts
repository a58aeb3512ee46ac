import { sql } from "drizzle-orm";
import { boolean, customType, index, jsonb, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, id, moment, now, versioned } from "./columns";
import { organizationId } from "./organizations";

export const tsvector = customType<{ data: string }>({ dataType: () => "tsvector" });

export const certificateStatus = pgEnum("certificate_status", ["active", "revoked", "retired"]);

export const certificates = pgTable(
  "certificates",
  {
    organizationId: organizationId(),
    id: id(),
    commonName: text().notNull(),
    fingerprintSha256: text().notNull(),
    subject: text().notNull(),
    issuer: text().notNull(),
    /** SHA-256 of the DER names: what links a certificate to its issuer. */
    subjectHash: text().notNull(),
    issuerHash: text().notNull(),
    /** The stored certificate that signed this one; none for a self-signed one or while the issuer is unknown. */
    issuerId: uuid(),
    notBefore: moment().notNull(),
    notAfter: moment().notNull(),
    isCa: boolean().notNull(),
    selfSigned: boolean().notNull(),
    facts: jsonb().notNull(),
    pem: text().notNull(),
    sealedPrivateKey: bytes(),
    status: certificateStatus().notNull().default("active"),
    revokedAt: moment(),
    revocationReason: text(),
    retiredAt: moment(),
    /** The user who answers for it. It stays when they leave the organization: who is no active member owns nothing. */
    ownerId: uuid(),
    contacts: jsonb().notNull().default([]),
    labels: jsonb().notNull().default({}),
    notes: text(),
    ...versioned(),
    /** Words of the names; the organization is a word too, so that one index serves a search within it. */
    search: tsvector().notNull(),
    /** Prove that the server imported it under this id, and gave it this status. */
    stamp: bytes(),
    statusStamp: bytes(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex().on(table.organizationId, table.fingerprintSha256),
    index().on(table.organizationId, table.notAfter, table.id),
    index("certificates_not_before_index").on(table.organizationId, table.notBefore).where(sql`status = 'active'`),
    index("certificates_not_after_index").on(table.notAfter).where(sql`status = 'active'`),
    index().on(table.organizationId, table.status, table.notAfter, table.id).where(sql`status <> 'active'`),
    index().on(table.organizationId, table.subjectHash),
    index("certificates_issuers_index").on(table.organizationId, table.subjectHash, table.notAfter.desc(), table.id).where(sql`is_ca or self_signed`),
    index().on(table.organizationId, table.issuerHash).where(sql`issuer_id is null`),
    index("certificates_orphans_index").on(table.organizationId, table.issuerHash, table.id).where(sql`issuer_id is null and not self_signed`),
    index("certificates_owned_index").on(table.organizationId, table.ownerId, table.notAfter, table.id).where(sql`owner_id is not null`),
    index("certificates_unowned_index").on(table.organizationId, table.notAfter, table.id).where(sql`owner_id is null`),
    // By hashes: a name or a number may be longer than an index takes.
    index("certificates_issuer_index").on(table.organizationId, sql`hashtextextended(issuer, 0)`, table.notAfter, table.id),
    index("certificates_serial_number_index").on(table.organizationId, sql`hashtextextended(facts->>'serialNumber', 0)`, table.notAfter, table.id),
    index().using("gin", table.search),
  ],
);

/**
 * The labels of certificates, so that those of one are found in the order of the list. A trigger on `certificates` keeps them; the empty
 * value stands for any.
 */
export const certificateLabels = pgTable(
  "certificate_labels",
  {
    organizationId: uuid().notNull(),
    key: text().notNull(),
    value: text().notNull(),
    notAfter: moment().notNull(),
    certificateId: uuid().notNull(),
  },
  (table) => [primaryKey({ name: "certificate_labels_pk", columns: [table.organizationId, table.key, table.value, table.notAfter, table.certificateId] })],
);

/**
 * Certificates that are not linked yet, neither to their issuer nor to what they issued. A trigger on `certificates` adds each
 * new one, whichever release stores it.
 */
export const pendingLinks = pgTable(
  "pending_links",
  {
    organizationId: uuid().notNull(),
    certificateId: uuid().notNull(),
    /** When the job may take it: an import links what it stored by itself, and a job that was killed leaves it to the next. */
    dueAt: now(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.certificateId] }), index().on(table.dueAt)],
);
