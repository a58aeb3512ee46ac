import type { TNull, TOptional, TUnion } from "@sinclair/typebox";
import { t } from "elysia";
import { Answer, Body, BodyId, DateTime, Integer, Nullable, OneOf, Text, Uuid } from "#http/schema";
import { MATERIAL_TYPES } from "#modules/fleet/trust-stores/rules/catalogue";
import { MaterialType, TrustStoreType } from "#modules/fleet/trust-stores/schema";
import { KeptReport } from "./history";

const Words = () => t.Array(Text(), { minItems: 1, maxItems: 50 });

// What each field means, and for which stores, is in the trust stores' config-fields.json.
const CONFIG = {
  trustStorePath: Text(),
  keychainPath: Text(),
  dbUser: Text(),
  alias: Text({ examples: ["example-root"] }),
  storePasswordRef: Text({ description: "A reference, never the password: env:NAME, file:/path or vault:path#field" }),
  reloadCommand: Words(),
  verifyEndpoint: { ...Text({ description: "Its scheme is https or tls", examples: ["https://www.certitude.example"] }), format: "uri" },
  verifyServerName: Text(),
  autoRenew: t.Boolean(),
  removeOnRevoke: t.Boolean(),
  pythonVenvPath: Text(),
  envFilePath: Text(),
  useOpensslCa: t.Boolean(),
  nodeFlags: Words(),
  preferOsStore: t.Boolean(),
  certFileName: Text(),
  keyFileName: Text(),
  keyPermissionMode: Text({ description: "Octal, such as 0600" }),
  racfProfile: Text(),
  systemId: Text(),
  gatewayMode: t.Boolean(),
};
type ConfigFields = typeof CONFIG;
export type ConfigField = keyof ConfigFields;

type Nullables = { [Field in ConfigField]: TOptional<TUnion<[ConfigFields[Field], TNull]>> };
const NULLABLES = Object.fromEntries(Object.entries(CONFIG).map(([name, field]) => [name, t.Optional(Nullable(field))])) as Nullables;

export const AssignmentConfig = t.Partial(
  Body(CONFIG, { title: "AssignmentConfig", examples: [{ alias: "example-root", verifyEndpoint: "https://www.certitude.example" }] }),
);
export type AssignmentConfig = typeof AssignmentConfig.static;
const AssignmentConfigPatch = Body(NULLABLES, { title: "AssignmentConfigPatch", description: "JSON merge patch: null removes" });
export type AssignmentConfigPatch = typeof AssignmentConfigPatch.static;

const ApplicationId = Text({ examples: ["payments-api"] });
const CertificateId = BodyId({ examples: ["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"] });
const IncludePrivateKey = t.Boolean({ description: "Whether the agent receives the certificate's private key" });

export const NewAssignment = Body(
  {
    applicationId: ApplicationId,
    certificateId: CertificateId,
    trustStoreType: TrustStoreType,
    materialType: t.Optional(OneOf(MATERIAL_TYPES, { default: "trust_anchor" })),
    includePrivateKey: t.Optional({ ...IncludePrivateKey, default: false }),
    config: t.Optional(AssignmentConfig),
    autoRenew: t.Optional(t.Boolean({ default: true })),
    enabled: t.Optional(t.Boolean({ default: true })),
  },
  { title: "NewAssignment" },
);
export type NewAssignment = typeof NewAssignment.static;

export const AssignmentPatch = Body(
  {
    applicationId: t.Optional(ApplicationId),
    certificateId: t.Optional(CertificateId),
    materialType: t.Optional(MaterialType),
    includePrivateKey: t.Optional(IncludePrivateKey),
    config: t.Optional(AssignmentConfigPatch),
    autoRenew: t.Optional(t.Boolean()),
    enabled: t.Optional(t.Boolean()),
    version: t.Optional(Integer({ minimum: 1, maximum: 2_147_483_647, description: "The version that must still hold, else 409" })),
    etag: t.Optional(Text({ description: "The etag that must still hold, else 409" })),
  },
  { title: "AssignmentPatch" },
);
export type AssignmentPatch = typeof AssignmentPatch.static;

const assignment = {
  id: Uuid,
  organizationId: Uuid,
  agentId: Uuid,
  applicationId: t.String({ examples: ["payments-api"] }),
  certificateId: t.String({ examples: ["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"] }),
  trustStoreType: TrustStoreType,
  materialType: MaterialType,
  includePrivateKey: t.Boolean(),
  config: AssignmentConfig,
  version: Integer(),
  etag: t.String({ description: "As in the header ETag", examples: ['"1"'] }),
  autoRenew: t.Boolean(),
  enabled: t.Boolean(),
  commonName: t.String({ description: "The certificate's", examples: ["Example Root"] }),
  createdAt: DateTime,
  updatedAt: DateTime,
};

export const Assignment = Answer(assignment, { title: "Assignment" });
export const AssignmentWithHistory = Answer(
  {
    ...assignment,
    report: Nullable(KeptReport),
    history: t.Array(KeptReport, { description: "The newest twenty reports that said something new, the newest first" }),
  },
  { title: "AssignmentWithHistory" },
);
