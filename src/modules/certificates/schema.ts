import { t } from "elysia";
import { Answer, Body, DateTime, Integer, Nullable, OneOf, Text, Uuid } from "../../http/schema";

/** RFC 5280, 5.3.1, without removeFromCRL, which revokes nothing. */
export const REVOCATION_REASONS = [
  "unspecified",
  "keyCompromise",
  "cACompromise",
  "affiliationChanged",
  "superseded",
  "cessationOfOperation",
  "certificateHold",
  "privilegeWithdrawn",
  "aACompromise",
] as const;

/** `expired` is derived from the dates; the others are stored. */
export const STATUSES = ["active", "expired", "revoked", "retired"] as const;

const Hash = t.String({ description: "Lower-case hexadecimal" });
const Texts = t.Array(t.String());

const summary = {
  id: Uuid,
  organizationId: Uuid,
  commonName: t.String({ description: "The common name, else the first DNS name, else the most telling part of the subject" }),
  subject: t.String({ description: "RFC 4514" }),
  issuer: t.String({ description: "RFC 4514" }),
  serialNumber: t.String({ description: "Hexadecimal, negative where the certificate's is" }),
  fingerprintSha256: Hash,
  fingerprintSha1: Hash,
  spkiSha256: Hash,
  key: Answer({ algorithm: t.String(), size: Nullable(Integer({ description: "Bits" })), curve: Nullable(t.String()) }),
  signatureAlgorithm: t.String(),
  isCa: t.Boolean(),
  pathLength: Nullable(Integer()),
  selfSigned: t.Boolean(),
  keyUsage: Texts,
  extendedKeyUsage: Texts,
  subjectAlternativeNames: Answer({ dns: Texts, ip: Texts, email: Texts, uri: Texts }),
  notBefore: DateTime,
  notAfter: DateTime,
  status: OneOf(STATUSES),
  revokedAt: Nullable(DateTime),
  revocationReason: Nullable(OneOf(REVOCATION_REASONS)),
  retiredAt: Nullable(DateTime),
  issuerCertificateId: Nullable(Uuid),
  hasPrivateKey: t.Boolean(),
  version: Integer(),
  createdAt: DateTime,
  updatedAt: DateTime,
};

export const CertificateSummary = Answer(summary);
export const Certificate = Answer({ ...summary, pem: t.String() });

const Issuer = Answer({
  id: Uuid,
  commonName: t.String(),
  subject: t.String(),
  fingerprintSha256: Hash,
  notAfter: DateTime,
  isCa: t.Boolean(),
  selfSigned: t.Boolean(),
  status: OneOf(STATUSES),
  pem: t.String(),
});

const Deployment = Answer({
  assignmentId: Uuid,
  agentId: Uuid,
  agentName: t.String(),
  applicationId: t.String(),
  trustStoreType: t.String(),
  enabled: t.Boolean(),
  state: Nullable(t.String({ description: "What the agent last reported" })),
  observedFingerprint: Nullable(t.String()),
  message: Nullable(t.String()),
  reportedAt: Nullable(DateTime),
});

export const CertificateDetails = Answer({
  ...summary,
  pem: t.String(),
  daysRemaining: Integer({ minimum: 0, description: "Whole days left" }),
  chain: t.Array(Issuer, { description: "The issuers that are stored here, from the certificate's own up to the root" }),
  deployments: t.Array(Deployment),
});

export const ExpiringCertificate = Answer({ certificateId: Uuid, commonName: t.String(), expiresAt: DateTime, daysRemaining: Integer() });

const PEM_EXAMPLE = "-----BEGIN CERTIFICATE-----\nMIIB…\n-----END CERTIFICATE-----\n";

export const ImportCertificates = Body({
  pem: Text({ max: 8 * 1024 * 1024, description: "One PEM block or many; text between the blocks is ignored", examples: [PEM_EXAMPLE] }),
  privateKeyPem: t.Optional(Text({ max: 20_000, description: "The unencrypted private key of one of them; it is sealed and never returned" })),
});

const Block = { index: Integer({ description: "Position among the PEM blocks, from 0" }) };

export const ImportReport = Answer({
  imported: t.Array(Answer({ ...Block, id: Uuid, commonName: t.String(), fingerprintSha256: Hash })),
  duplicates: t.Array(Answer({ ...Block, id: Uuid, fingerprintSha256: Hash })),
  refused: t.Array(Answer({ ...Block, message: t.String() })),
});
export type ImportReport = typeof ImportReport.static;

export const RevokeCertificate = Body({ reason: t.Optional(OneOf(REVOCATION_REASONS, { default: "unspecified" })) });
