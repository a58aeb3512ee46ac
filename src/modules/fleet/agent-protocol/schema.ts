import { t } from "elysia";
import { Answer, AssignmentId, Body, CertificateId, DateTime, Id, Moment, Nullable, OneOf, Text, Uuid, Version } from "#http/schema";
import { EXAMPLE_PEM, EXAMPLE_SUMMARY } from "#modules/certificates/certificates/schema/example";
import { Host } from "#modules/fleet/agent-access/schema";
import { ASSIGNMENT_FIELDS, KeyOnHost } from "#modules/fleet/assignments/schema/assignments";
import { STATES } from "#modules/fleet/assignments/schema/history";
import { HostChallenge, KeyRequest } from "#modules/issuance/requests/schema/host-keys";

const MAX_MESSAGE = 1_000;

const { enabled: _, ...fields } = ASSIGNMENT_FIELDS; // only enabled ones are desired

const DesiredAssignment = Answer(
  {
    id: Id,
    version: Version,
    ...fields,
    keyOnHost: KeyOnHost,
    certificateId: CertificateId,
    commonName: t.String({ description: "The certificate's", examples: [EXAMPLE_SUMMARY.commonName] }),
    fingerprintSha256: t.String({ description: "The certificate's, lower-case hexadecimal", examples: [EXAMPLE_SUMMARY.fingerprintSha256] }),
    notAfter: { ...DateTime, description: "When the certificate ends" },
    pem: t.String({ description: "The certificate alone, in PEM", examples: [EXAMPLE_PEM] }),
    chain: t.Array(t.String(), { description: "The issuers' PEM, from the certificate's own up to the root", examples: [[]] }),
    privateKeyPem: Nullable(t.String({ description: "Where includePrivateKey is true" })),
  },
  { title: "DesiredAssignment" },
);

export const DesiredState = Answer(
  {
    items: t.Array(DesiredAssignment, { description: "What must be installed; whatever the agent installed besides must go, except `keep`" }),
    keep: t.Array(Uuid, {
      description: "Assignments whose certificate is revoked or retired, but whose config says removeOnRevoke: false. They stay as they are.",
      examples: [[]],
    }),
    remove: t.Array(DesiredAssignment, {
      description: "Assignments that are deleted once the agent reports removed, also where it has no record of them; without their private keys",
      examples: [[]],
    }),
    keys: t.Array(KeyRequest, {
      description:
        "Certificates that are to be issued for a key of the host's own: the agent makes it, keeps it, and sends a signing request. What is here no more is over",
      examples: [[]],
    }),
    challenges: t.Array(HostChallenge, {
      description: "What a CA is about to ask this host for. What is here no more is shown no more",
      examples: [[]],
    }),
  },
  { title: "DesiredState" },
);

const Report = Body({
  assignmentId: AssignmentId,
  state: OneOf(STATES, { description: "What is so on the host; kept: the store trusts it still", examples: ["installed"] }),
  observedFingerprint: t.Optional(
    t.String({
      pattern: "^[0-9a-fA-F]{64}$",
      description: "must be the SHA-256 fingerprint of the certificate that was found, in 64 hexadecimal digits",
      examples: [EXAMPLE_SUMMARY.fingerprintSha256],
    }),
  ),
  message: t.Optional(Text({ max: MAX_MESSAGE, description: "Why it is so, for people" })),
  observedAt: t.Optional(
    Moment({
      description: "When the agent saw it so, by the clock of its host, however wrong that is; kept to the millisecond",
      examples: ["2026-01-02T09:31:00.000Z"],
    }),
  ),
});

export const AgentReport = Body(
  { reports: t.Array(Report, { maxItems: 1_000, description: "One per assignment; none where only the agent's host is new" }), host: t.Optional(Host) },
  { title: "AgentReport" },
);
export type AgentReport = typeof AgentReport.static;
