import { t } from "elysia";
import {
  AgentId,
  Answer,
  AssignmentId,
  Body,
  CertificateId,
  CreatedAt,
  DateTime,
  Id,
  Integer,
  Nullable,
  OneOf,
  OrganizationId,
  Text,
  UpdatedAt,
  Uuid,
  Version,
} from "#http/schema";
import { KeptReport, ObservedAt } from "#modules/fleet/assignments/schema/history";
import { REVOCATION_REASONS } from "../rules/revocation-reasons";
import { annotations } from "./annotations";
import { EXAMPLE_DEPLOYMENT, EXAMPLE_PEM, EXAMPLE_SUMMARY } from "./example";

/** `expired` is derived from the dates; the others are stored. */
export const STATUSES = ["active", "expired", "revoked", "retired"] as const;

const Hash = (of: string) => t.String({ description: `Of ${of}, lower-case hexadecimal` });
const Texts = (description: string) => t.Array(t.String(), { description });
const Status = OneOf(STATUSES, { description: "expired once notAfter has passed; revoked and retired come before that" });
const IsCa = t.Boolean({ description: "Whether it may sign certificates: basicConstraints CA" });
const SelfSigned = t.Boolean({ description: "Whether its own key signed it" });
const NotAfter = { ...DateTime, description: "The last moment at which it is valid" };
const Pem = t.String({ description: "The certificate alone, in PEM" });

const summary = {
  id: Id,
  organizationId: OrganizationId,
  commonName: t.String({ description: "The common name, else the first DNS name, else the most telling part of the subject" }),
  subject: t.String({ description: "RFC 4514" }),
  issuer: t.String({ description: "RFC 4514" }),
  serialNumber: t.String({ description: "Hexadecimal, negative where the certificate's is" }),
  fingerprintSha256: Hash("its DER"),
  fingerprintSha1: Hash("its DER"),
  spkiSha256: Hash("its public key (SubjectPublicKeyInfo)"),
  key: Answer(
    {
      algorithm: t.String({ description: "RSA, EC, Ed25519 and so on" }),
      size: Nullable(Integer({ description: "Bits" })),
      curve: Nullable(t.String({ description: "Of an elliptic curve key, its name at NIST or the common one" })),
    },
    { description: "The public key" },
  ),
  signatureAlgorithm: t.String({ description: "What its issuer signed it with, as OpenSSL names it" }),
  isCa: IsCa,
  pathLength: Nullable(Integer({ description: "How many authorities may stand below it; null where it does not say" })),
  selfSigned: SelfSigned,
  keyUsage: Texts("What its key may be used for (RFC 5280, 4.2.1.3); empty where it does not say"),
  extendedKeyUsage: Texts("For which purposes: the names of RFC 5280, else object identifiers; empty where it does not say"),
  subjectAlternativeNames: Answer(
    { dns: Texts("DNS names"), ip: Texts("IP addresses"), email: Texts("E-mail addresses"), uri: Texts("URIs") },
    { description: "All the names that it is for, by kind" },
  ),
  notBefore: { ...DateTime, description: "The first moment at which it is valid" },
  notAfter: NotAfter,
  status: Status,
  revokedAt: Nullable({ ...DateTime, description: "When it was revoked here" }),
  revocationReason: Nullable(OneOf(REVOCATION_REASONS, { description: "RFC 5280, 5.3.1" })),
  retiredAt: Nullable({ ...DateTime, description: "When it was retired: taken out of use without being revoked" }),
  issuerCertificateId: Nullable({ ...Uuid, description: "The certificate that signed it, where that is stored here" }),
  hasPrivateKey: t.Boolean({ description: "Whether its private key is stored here, sealed" }),
  ...annotations,
  version: Version,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
};

const withPem = { ...summary, pem: Pem };
const exampleWithPem = { ...EXAMPLE_SUMMARY, pem: EXAMPLE_PEM };

export const CertificateSummary = Answer(summary, { title: "CertificateSummary", examples: [EXAMPLE_SUMMARY] });
export const Certificate = Answer(withPem, { title: "Certificate", examples: [exampleWithPem] });

const Issuer = Answer(
  {
    id: Id,
    commonName: summary.commonName,
    subject: summary.subject,
    fingerprintSha256: summary.fingerprintSha256,
    notAfter: NotAfter,
    isCa: IsCa,
    selfSigned: SelfSigned,
    status: Status,
    pem: Pem,
  },
  { title: "Issuer" },
);

export const Deployment = Answer(
  {
    assignmentId: AssignmentId,
    agentId: AgentId,
    agentName: t.String({ description: "The agent's name" }),
    applicationId: t.String({ description: "What uses the certificate there, as the assignment names it" }),
    trustStoreType: t.String({ description: "The type of store that it is installed into" }),
    enabled: t.Boolean({ description: "Whether it is to be installed" }),
    state: Nullable(t.String({ description: "What the agent last reported" })),
    observedFingerprint: Nullable(t.String({ description: "SHA-256 of the certificate that the agent found in the store, lower-case hexadecimal" })),
    message: Nullable(t.String({ description: "What the agent says of it, such as why it failed" })),
    reportedAt: Nullable({ ...DateTime, description: "When the server received that" }),
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

const CommonName = t.String({ description: "As in the certificate's own answer", examples: [EXAMPLE_SUMMARY.commonName] });

export const ExpiringCertificate = Answer(
  {
    certificateId: CertificateId,
    commonName: CommonName,
    expiresAt: NotAfter,
    daysRemaining: Integer({ description: "Whole days left", examples: [12] }),
  },
  { title: "ExpiringCertificate" },
);

/** The certificates of one import: on a slow machine it still ends well within the time of a request. */
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
    imported: t.Array(Answer({ ...Block, id: Id, commonName: CommonName, fingerprintSha256: Fingerprint }), { description: "What is new" }),
    duplicates: t.Array(
      Answer({
        ...Block,
        id: Id,
        fingerprintSha256: Fingerprint,
        reactivated: t.Boolean({ description: "It was retired, and is active again", examples: [false] }),
      }),
      { description: "What was stored before, by its SHA-256 fingerprint", examples: [[]] },
    ),
    refused: t.Array(Answer({ ...Block, message: t.String({ description: "Why it was not stored" }) }), {
      description: "What is no certificate, or none that can be stored",
      examples: [[{ index: 1, message: "This block is not a certificate." }]],
    }),
  },
  { title: "ImportReport" },
);
export type ImportReport = typeof ImportReport.static;

export const RevokeCertificate = Body(
  {
    reason: t.Optional(
      OneOf(REVOCATION_REASONS, { description: "RFC 5280, 5.3.1; certificateHold can be taken back", default: "unspecified", examples: ["superseded"] }),
    ),
  },
  { title: "RevokeCertificate" },
);
