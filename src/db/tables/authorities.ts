import { sql } from "drizzle-orm";
import { bigint, boolean, index, integer, jsonb, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { bytes, id, moment, now, versioned } from "./columns";
import { organizationId } from "./organizations";

export const authorityKind = pgEnum("authority_kind", ["root", "issuing"]);
export const authorityStatus = pgEnum("authority_status", ["pending", "active"]);

/** An organization's own certificate authorities. */
export const authorities = pgTable(
  "authorities",
  {
    organizationId: organizationId(),
    id: id(),
    name: text().notNull(),
    kind: authorityKind().notNull(),
    /** `pending` until the certificate of its request is there; `expired` and `revoked` follow from its certificate. */
    status: authorityStatus().notNull(),
    enabled: boolean().notNull().default(true),
    /** The authority above it, where that is one of the organization's own. */
    parentId: uuid(),
    keyAlgorithm: text().notNull(),
    /** SubjectPublicKeyInfo in base64: what the private key is bound to. */
    publicKey: text().notNull(),
    sealedPrivateKey: bytes().notNull(),
    /** PKCS #10, while it waits for the certificate that an authority elsewhere makes of it. */
    requestPem: text(),
    /** Its certificate, which is one of the organization. */
    certificateId: uuid(),
    /** The authorities above it in PEM, the nearest first, without the root. */
    chainPem: text().notNull().default(""),
    subject: text().notNull(),
    pathLength: integer(),
    /** Name constraints, its own and those above it: a name must satisfy each. */
    constraints: jsonb().notNull().default([]),
    notBefore: moment(),
    notAfter: moment(),
    profiles: jsonb().notNull().default([]),
    /** The beginning of the addresses in its certificates. */
    publicUrl: text().notNull(),
    /** Proves that a server has set what it may issue, by which certificate. */
    stamp: bytes(),
    ...versioned(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    index("authorities_parent_index").on(table.organizationId, table.parentId).where(sql`parent_id is not null`),
  ],
);

/** The public answers of an authority, signed ahead: a row for each active one. */
export const authorityPublications = pgTable(
  "authority_publications",
  {
    organizationId: organizationId(),
    authorityId: uuid().notNull(),
    crl: bytes(),
    crlNumber: bigint({ mode: "number" }).notNull().default(0),
    crlSignedAt: moment(),
    crlNextUpdate: moment(),
    /**
     * When it is signed again, null once the authority has ended. A trigger brings it forward when a certificate is revoked,
     * whichever release writes that.
     */
    crlDueAt: moment().default(sql`now()`),
    /** The authority's OCSP responder: a certificate of some weeks, and its key. */
    responderCertificate: bytes(),
    sealedResponderKey: bytes(),
    responderDueAt: moment().default(sql`now()`),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.authorityId] }),
    uniqueIndex("authority_publications_authority_index").on(table.authorityId),
    index("authority_publications_due_index").on(sql`least(crl_due_at, responder_due_at)`),
  ],
);

/** The certificates that authorities have issued, with their OCSP answers. */
export const issuedCertificates = pgTable(
  "issued_certificates",
  {
    organizationId: organizationId(),
    id: id(),
    authorityId: uuid().notNull(),
    /** Lower-case hexadecimal. */
    serialNumber: text().notNull(),
    certificateId: uuid().notNull(),
    /** The order that it was issued for: each has one certificate, even when it is asked for again. */
    requestId: uuid(),
    notAfter: moment().notNull(),
    /** As the certificate of the organization says; a trigger keeps them. */
    revokedAt: moment(),
    revocationReason: text(),
    /** Null while it must be signed again. */
    ocspAnswer: bytes(),
    ocspNextUpdate: moment(),
    /** When it is signed again; null once the certificate has expired. */
    ocspDueAt: moment().default(sql`now()`),
    createdAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.id] }),
    uniqueIndex("issued_certificates_serial_index").on(table.authorityId, table.serialNumber),
    uniqueIndex("issued_certificates_request_index").on(table.organizationId, table.requestId).where(sql`request_id is not null`),
    uniqueIndex("issued_certificates_certificate_index").on(table.organizationId, table.certificateId),
    index("issued_certificates_revoked_index").on(table.organizationId, table.authorityId, table.notAfter).where(sql`revoked_at is not null`),
    index("issued_certificates_live_index").on(table.organizationId, table.authorityId, table.notAfter),
    index("issued_certificates_ocsp_due_index").on(table.ocspDueAt).where(sql`ocsp_due_at is not null`),
  ],
);
