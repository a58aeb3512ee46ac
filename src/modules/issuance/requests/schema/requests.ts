import { t } from "elysia";
import { Answer, Body, BodyId, CreatedAt, DateTime, Id, Integer, Moment, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Uuid, Version } from "#http/schema";
import { ASSIGNMENT_FIELDS, AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { ALL_KEY_ALGORITHMS, KEY_ALGORITHMS } from "#modules/issuance/issuing/rules/key-algorithms";
import { MAX_NAMES } from "#modules/issuance/issuing/rules/names";
import { KEY_LOCATIONS } from "#modules/issuance/issuing/rules/policy";
import { Actor } from "#modules/people/audit/schema";
import { HostProof } from "./host-keys";

export const STATUSES = ["pending", "validating", "issuing", "issued", "failed", "cancelled"] as const;
const APPROVALS = ["none", "awaited", "given", "refused"] as const;
const EXAMPLE_ID = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";
const EXAMPLE_NAMES = ["www.certitude.example", "*.api.certitude.example"];

const names = { description: "DNS names, in Unicode or not, and IP addresses; a wildcard is *. and a domain", examples: [["www.certitude.example"]] };
const Location = OneOf(KEY_LOCATIONS, {
  description: "Where the key is made: agent, on a host, which it never leaves; server, sealed here; csr, by you, who send a CSR",
  examples: ["server"],
});
const Deployment = Body(
  {
    agentId: BodyId({ description: "The host that makes the key", examples: [EXAMPLE_ID] }),
    applicationId: Text({ description: "What will use the certificate there", examples: ["payments-api"] }),
    trustStoreType: ASSIGNMENT_FIELDS.trustStoreType,
    materialType: t.Optional(ASSIGNMENT_FIELDS.materialType),
    config: t.Optional(AssignmentConfig),
    proof: t.Optional(HostProof),
  },
  { title: "NewDeployment", description: "The assignment that is made of the certificate; with the key location agent" },
);

export const NewCertificateRequest = Body(
  {
    issuerId: BodyId({ description: "The issuer that is asked for it", examples: [EXAMPLE_ID] }),
    names: t.Array(Text({ max: 300 }), { ...names, minItems: 1, maxItems: MAX_NAMES }),
    key: Body(
      {
        location: Location,
        algorithm: t.Optional(OneOf(KEY_ALGORITHMS, { description: "Of a CSR it is the key's own", default: "ecdsa-p256", examples: ["ecdsa-p256"] })),
      },
      { title: "NewKey", description: "The key that the certificate is for" },
    ),
    csrPem: t.Optional(
      Text({ max: 100_000, description: "With the key location csr: PKCS #10 of exactly these names", examples: ["-----BEGIN CERTIFICATE REQUEST-----\n…"] }),
    ),
    deployment: t.Optional(Deployment),
    profile: t.Optional(Text({ description: "In place of the issuer's", examples: ["server"] })),
    autoRenew: t.Optional(t.Boolean({ default: true, description: "Whether it is renewed before it ends" })),
    renewAt: t.Optional(Moment({ description: "When it is renewed; by default at two thirds of the lifetime, or when the issuer says" })),
  },
  { title: "NewCertificateRequest", examples: [{ issuerId: EXAMPLE_ID, names: EXAMPLE_NAMES.slice(0, 1), key: { location: "server" } }] },
);
export type NewCertificateRequest = typeof NewCertificateRequest.static;

const Status = OneOf(STATUSES, { description: "How far it has come; the last three are for good", examples: ["validating"] });
const Reason = Nullable(t.String({ description: "Why it is so, or what is awaited", examples: ["It waits for the agent's key."] }));

const request = {
  id: Id,
  organizationId: OrganizationId,
  issuerId: { ...Uuid, description: "The issuer that is asked for it" },
  names: t.Array(t.String(), { description: "Domains in A-labels and lower case, addresses in their shortest form", examples: [EXAMPLE_NAMES] }),
  key: Answer(
    { algorithm: t.String({ description: "What the key is", examples: ["ecdsa-p256"] }), location: Location },
    { title: "RequestedKey", description: "The key that the certificate is for" },
  ),
  deployment: Nullable(
    t.Record(t.String(), t.Unknown(), { description: "The assignment that is made of the certificate", examples: [{ agentId: EXAMPLE_ID }] }),
  ),
  profile: Nullable(t.String({ description: "In place of the issuer's" })),
  autoRenew: t.Boolean({ description: "Whether it is renewed before it ends" }),
  renewAt: Nullable({ ...DateTime, description: "When it is renewed; null: at two thirds of the lifetime, or when the issuer says" }),
  replaces: Nullable({ ...Uuid, description: "The certificate that it renews" }),
  status: Status,
  approval: OneOf(APPROVALS, { description: "awaited: nothing is done before another admin than its author approves it" }),
  reason: Reason,
  certificateId: Nullable({ ...Uuid, description: "Once it is issued" }),
  nextAttemptAt: Nullable({ ...DateTime, description: "After a failure that may pass" }),
  createdBy: Actor,
  approvedBy: Nullable(Actor),
  version: Version,
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
  endedAt: Nullable({ ...DateTime, description: "When it was issued, failed for good, or was cancelled" }),
};

export const CertificateRequest = Answer(request, { title: "CertificateRequest", hasTag: true });
export const CertificateRequestWithSteps = Answer(
  {
    ...request,
    steps: t.Array(Answer({ status: Status, reason: Reason, at: { ...DateTime, description: "Since when" } }, { title: "CertificateRequestStep" }), {
      description: "The oldest first",
    }),
  },
  { title: "CertificateRequestWithSteps", hasTag: true },
);

export const RefusePolicy = Body(
  { reason: Text({ max: 1_000, description: "Why, for who proposed it", examples: ["We order for these domains alone."] }) },
  { title: "RefuseIssuancePolicy" },
);

export const RefuseRequest = Body(
  { reason: Text({ max: 1_000, description: "Why, for its author", examples: ["This name is another team's."] }) },
  { title: "RefuseCertificateRequest" },
);

const policy = {
  allowedDomains: Nullable(
    t.Array(Text({ max: 300 }), {
      maxItems: 1_000,
      description: "example.com is this name alone, *.example.com all below it. null: all",
      examples: [["*.certitude.example"]],
    }),
  ),
  allowedAddresses: Nullable(t.Array(Text({ max: 50 }), { maxItems: 1_000, description: "Addresses and networks. null: all", examples: [["10.0.0.0/8"]] })),
  allowedKeyAlgorithms: Nullable(t.Array(OneOf(ALL_KEY_ALGORITHMS), { description: "null: all", examples: [["ecdsa-p256"]] })),
  allowedKeyLocations: Nullable(t.Array(OneOf(KEY_LOCATIONS), { description: "null: all", examples: [["agent"]] })),
  needsApproval: t.Boolean({ description: "A request waits for another admin than its author", examples: [true] }),
};
export const PutIssuancePolicy = Body(
  {
    allowedDomains: t.Optional(policy.allowedDomains),
    allowedAddresses: t.Optional(policy.allowedAddresses),
    allowedKeyAlgorithms: t.Optional(policy.allowedKeyAlgorithms),
    allowedKeyLocations: t.Optional(policy.allowedKeyLocations),
    needsApproval: t.Optional(policy.needsApproval),
  },
  { title: "PutIssuancePolicy", examples: [{ allowedDomains: ["*.certitude.example"], needsApproval: true }] },
);
const Proposal = Answer(
  {
    id: { ...Uuid, description: "Which one; another proposal in its place has another id" },
    ...policy,
    proposedBy: Actor,
    proposedAt: { ...DateTime, description: "Since when it waits" },
  },
  { title: "ProposedIssuancePolicy", description: "A policy that allows more; it counts once another admin than who proposed it has approved it" },
);
export const IssuancePolicyAnswer = Answer(
  {
    organizationId: OrganizationId,
    ...policy,
    version: Integer({ description: "0: the default, which allows everything" }),
    updatedAt: Nullable(UpdatedAt),
    proposal: t.Optional(Proposal),
  },
  { title: "IssuancePolicy" },
);
