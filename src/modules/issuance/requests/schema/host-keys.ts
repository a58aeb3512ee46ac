import { t } from "elysia";
import { Answer, Body, Id, Integer, Nullable, OneOf, Text, Uuid } from "#http/schema";
import { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { MaterialType, TrustStoreType } from "#modules/fleet/trust-stores/schema";
import { HOST_PROOFS } from "#modules/issuance/issuing/rules/host-proofs";
import { KEY_ALGORITHMS } from "#modules/issuance/issuing/rules/key-algorithms";

const Name = Answer(
  {
    type: OneOf(["dns", "ip"], { description: "A DNS name or an IP address", examples: ["dns"] }),
    value: t.String({ description: "A domain in A-labels, or an address", examples: ["www.certitude.example"] }),
  },
  { title: "RequestedName" },
);

const KeyPlace = Answer(
  {
    id: { ...Uuid, description: "The assignment that the certificate is for; it is made with the certificate where there is none yet" },
    trustStoreType: TrustStoreType,
    materialType: MaterialType,
    config: AssignmentConfig,
  },
  { title: "KeyPlace", description: "Where the certificate and its key will be" },
);

export const KeyRequest = Answer(
  {
    requestId: { ...Uuid, description: "The certificate request" },
    algorithm: OneOf(KEY_ALGORITHMS, { description: "Of the key that the host makes", examples: ["ecdsa-p256"] }),
    commonName: Nullable(t.String({ description: "The subject's only attribute; null: an empty subject", examples: ["www.certitude.example"] })),
    names: t.Array(Name, { description: "The subject alternative names, all of them" }),
    hasCsr: t.Boolean({ description: "Whether the signing request was kept: the key stays where it is until its certificate comes" }),
    assignment: KeyPlace,
  },
  { title: "KeyRequest" },
);
export type KeyRequest = typeof KeyRequest.static;

export const Csr = Body(
  { csrPem: Text({ max: 64_000, description: "PKCS #10, signed with the key that it is about", examples: ["-----BEGIN CERTIFICATE REQUEST-----\n…"] }) },
  { title: "HostCsr" },
);

export const KeyFault = Body(
  {
    state: OneOf(["failed", "refused"], { description: "refused: by the policy of the host", examples: ["refused"] }),
    message: Text({
      max: 1_000,
      description: "Why there is no key or no signing request",
      examples: ["The policy of this host does not permit its private key."],
    }),
  },
  { title: "HostKeyFault" },
);

export const HostProof = Body(
  {
    type: OneOf(HOST_PROOFS, { description: "The challenge of RFC 8555, or of RFC 8737", examples: ["http-01"] }),
    webroot: t.Optional(
      Text({
        max: 1_000,
        description:
          "With http-01: a directory of the host that a web server serves on port 80 of the names; the agent writes into .well-known/acme-challenge in it",
        examples: ["/var/www/html"],
      }),
    ),
    address: t.Optional(Text({ max: 45, description: "Where the agent listens itself; by default all addresses of the host", examples: ["127.0.0.1"] })),
    port: t.Optional(
      Integer({
        minimum: 1,
        maximum: 65_535,
        description: "By default 80, with tls-alpn-01 443: the CA asks there, so another one needs a forwarding",
        examples: [80],
      }),
    ),
  },
  {
    title: "HostProof",
    description:
      "How the agent proves control of the names to an ACME issuer, before the issuer's own challenges are tried: by a file in a webroot, or by answering itself while the order lasts",
  },
);
export type HostProof = typeof HostProof.static;

export const HostChallenge = Answer(
  {
    id: Id,
    requestId: { ...Uuid, description: "The certificate request that the CA asks for" },
    name: t.String({ description: "A DNS name, or an IP address", examples: ["www.certitude.example"] }),
    token: t.String({ description: "base64url", examples: ["evaGxfADs6pSRb2LAv9IZf17Dt3juxGJyPCt92wrDoA"] }),
    thumbprint: t.String({ description: "What is shown is the token, a dot and this", examples: ["9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI"] }),
    isShown: t.Boolean({ description: "Whether the agent has reported that it shows it" }),
    proof: HostProof,
  },
  { title: "HostChallenge" },
);
export type HostChallenge = typeof HostChallenge.static;

const ChallengeReport = Body(
  {
    id: { ...Uuid, description: "The challenge" },
    state: OneOf(["shown", "failed", "refused"], { description: "refused: by the policy of the host", examples: ["shown"] }),
    message: t.Optional(Text({ max: 1_000, description: "Why it is not shown", examples: ["Port 80 of this host is taken by another program."] })),
  },
  { title: "HostChallengeReport" },
);
export const ChallengeReports = Body(
  { challenges: t.Array(ChallengeReport, { minItems: 1, maxItems: 1_000, description: "One for each challenge whose state is new" }) },
  { title: "HostChallengeReports" },
);
export type ChallengeReport = typeof ChallengeReport.static;
