import { t } from "elysia";
import { Answer, Body, DateTime, Integer, Nullable, OneOf, Text, Uuid } from "#http/schema";
import { KeptReport, ObservedAt } from "#modules/fleet/assignments/schema/history";
import { annotations } from "./annotations";
import { EXAMPLE_DEPLOYMENT, EXAMPLE_PEM, EXAMPLE_SUMMARY } from "./example";

/** RFC 5280, 5.3.1, without removeFromCRL, which revokes nothing. */
const REVOCATION_REASONS = [
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
  ...annotations,
  version: Integer(),
  createdAt: DateTime,
  updatedAt: DateTime,
};

const withPem = { ...summary, pem: t.String() };
const exampleWithPem = { ...EXAMPLE_SUMMARY, pem: EXAMPLE_PEM };

export const CertificateSummary = Answer(summary, { title: "CertificateSummary", examples: [EXAMPLE_SUMMARY] });
export const Certificate = Answer(withPem, { title: "Certificate", examples: [exampleWithPem] });

const Issuer = Answer(
  {
    id: Uuid,
    commonName: t.String(),
    subject: t.String(),
    fingerprintSha256: Hash,
    notAfter: DateTime,
    isCa: t.Boolean(),
    selfSigned: t.Boolean(),
    status: OneOf(STATUSES),
    pem: t.String(),
  },
  { title: "Issuer" },
);

export const Deployment = Answer(
  {
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
    observedAt: ObservedAt,
    history: t.Array(KeptReport, { description: "The newest five reports that said something new, the newest first" }),
  },
  { title: "Deployment" },
);

export const CertificateDetails = Answer(
  {
    ...withPem,
    daysRemaining: Integer({ minimum: 0, description: "Whole days left" }),
    chain: t.Array(Issuer, { description: "The issuers that are stored here, from the certificate's own up to the root" }),
    deploymentCount: Integer({ minimum: 0, description: "All of them", examples: [1] }),
    deployments: t.Array(Deployment, { description: "The oldest thousand; GET …/certificates/{certificateId}/deployments lists all" }),
  },
  { title: "CertificateDetails", examples: [{ ...exampleWithPem, daysRemaining: 3_650, chain: [], deploymentCount: 1, deployments: [EXAMPLE_DEPLOYMENT] }] },
);

const CommonName = t.String({ examples: [EXAMPLE_SUMMARY.commonName] });

export const ExpiringCertificate = Answer(
  { certificateId: Uuid, commonName: CommonName, expiresAt: DateTime, daysRemaining: Integer({ examples: [12] }) },
  { title: "ExpiringCertificate" },
);

/** What one request may import: on a slow machine it still ends well within the time of a request. */
export const MAX_BLOCKS = 2_000;

export const ImportCertificates = Body(
  {
    pem: Text({
      max: 8 * 1024 * 1024,
      description: `One PEM block or many, at most ${MAX_BLOCKS}, each of at most 512 KiB; text between the blocks is ignored`,
      examples: [EXAMPLE_PEM],
    }),
    privateKeyPem: t.Optional(Text({ max: 20_000, description: "The unencrypted private key of one of them; it is sealed and never returned" })),
  },
  { title: "ImportCertificates" },
);

const Block = { index: Integer({ description: "Position among the PEM blocks, from 0", examples: [0] }) };
const Fingerprint = t.String({ description: "Lower-case hexadecimal", examples: [EXAMPLE_SUMMARY.fingerprintSha256] });

export const ImportReport = Answer(
  {
    imported: t.Array(Answer({ ...Block, id: Uuid, commonName: CommonName, fingerprintSha256: Fingerprint })),
    duplicates: t.Array(
      Answer({
        ...Block,
        id: Uuid,
        fingerprintSha256: Fingerprint,
        reactivated: t.Boolean({ description: "It was retired, and is active again", examples: [false] }),
      }),
      { examples: [[]] },
    ),
    refused: t.Array(Answer({ ...Block, message: t.String() }), { examples: [[{ index: 1, message: "This block is not a certificate." }]] }),
  },
  { title: "ImportReport" },
);
export type ImportReport = typeof ImportReport.static;

export const RevokeCertificate = Body(
  { reason: t.Optional(OneOf(REVOCATION_REASONS, { default: "unspecified", examples: ["superseded"] })) },
  { title: "RevokeCertificate" },
);
