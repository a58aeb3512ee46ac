import type { TNull, TOptional, TSchema, TUnion } from "@sinclair/typebox";
import { t } from "elysia";
import { AgentId, Answer, Body, BodyId, CreatedAt, DateTime, Id, Integer, Nullable, OrganizationId, Text, UpdatedAt, Version } from "#http/schema";
import { fields } from "#modules/fleet/trust-stores/rules/config-fields.json";
import { MaterialType, TrustStoreType } from "#modules/fleet/trust-stores/schema";
import { KeptReport } from "./history";

const Words = () => t.Array(Text(), { minItems: 1, maxItems: 50 });

const FIELDS = {
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
  preset: Text({ examples: ["postfix"] }),
  keyDirectory: Text(),
  chainFileName: Text(),
  fullChainFileName: Text(),
  combinedFileName: Text(),
  caFileName: Text(),
  fileOwner: Text(),
  fileGroup: Text(),
  verifyStartTls: Text({ examples: ["smtp"] }),
};
/** The fields of a config; the meaning of each, and its stores, are in the trust stores' catalogue. */
const CONFIG = Object.fromEntries(
  Object.entries(FIELDS).map(([name, field]) => [name, { description: fields.find((each) => each.name === name)?.meaning, ...field }]),
) as typeof FIELDS;
type ConfigFields = typeof FIELDS;
export type ConfigField = keyof ConfigFields;

type Nullables = { [Field in ConfigField]: TOptional<TUnion<[ConfigFields[Field], TNull]>> };
const NULLABLES = Object.fromEntries(Object.entries(CONFIG).map(([name, field]) => [name, t.Optional(Nullable(field))])) as Nullables;

export const AssignmentConfig = t.Partial(
  Body(CONFIG, {
    title: "AssignmentConfig",
    description: "What the type of store needs to know; the catalogue's defaults apply",
    examples: [{ alias: "example-root", verifyEndpoint: "https://www.certitude.example" }],
  }),
);
export type AssignmentConfig = typeof AssignmentConfig.static;
const AssignmentConfigPatch = Body(NULLABLES, { title: "AssignmentConfigPatch", description: "JSON merge patch: null removes" });
export type AssignmentConfigPatch = typeof AssignmentConfigPatch.static;

/** The fields of an assignment beside its config that a new one must have. */
const REQUIRED = {
  applicationId: Text({ description: "What uses the certificate there: a name of your own", examples: ["payments-api"] }),
  certificateId: BodyId({ description: "The certificate to install", examples: ["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"] }),
  trustStoreType: TrustStoreType,
};
/** The fields that have a default. */
const DEFAULTED = {
  materialType: MaterialType,
  includePrivateKey: t.Boolean({ description: "Whether the agent receives the certificate's private key" }),
  autoRenew: t.Boolean({ description: "Whether it follows when the certificate is replaced" }),
  enabled: t.Boolean({ description: "Whether it is to be installed; when not, the agent takes it out" }),
};
export const DEFAULTS: { [Field in keyof typeof DEFAULTED]: (typeof DEFAULTED)[Field]["static"] } = {
  materialType: "trust_anchor",
  includePrivateKey: false,
  autoRenew: true,
  enabled: true,
};
const FIRST_MATERIAL = "By default the first that the catalogue names for the store: server_certificate for nginx_tls and its like, else trust_anchor";
type Defaulted = { [Field in keyof typeof DEFAULTED]: TOptional<(typeof DEFAULTED)[Field]> };
// A titled schema is one and the same everywhere. What a store is for decides the default of the material.
const NEW = mapFields((name, { title: _, ...field }) =>
  t.Optional(name === "materialType" ? { ...field, description: FIRST_MATERIAL } : { ...field, default: DEFAULTS[name] }),
);
const PATCH = mapFields((_, field) => t.Optional(field));

function mapFields(each: (name: keyof typeof DEFAULTED, field: TSchema) => TSchema) {
  return Object.fromEntries(Object.entries(DEFAULTED).map(([name, field]) => [name, each(name as keyof typeof DEFAULTED, field)])) as Defaulted;
}

export const NewAssignment = Body({ ...REQUIRED, ...NEW, config: t.Optional(AssignmentConfig) }, { title: "NewAssignment" });
export type NewAssignment = typeof NewAssignment.static;

export const AssignmentPatch = Body(
  {
    applicationId: t.Optional(REQUIRED.applicationId),
    certificateId: t.Optional(REQUIRED.certificateId),
    ...PATCH,
    config: t.Optional(AssignmentConfigPatch),
    version: t.Optional(Integer({ minimum: 1, maximum: 2_147_483_647, description: "The version that must still hold, else 409" })),
    etag: t.Optional(Text({ description: "The etag that must still hold, else 409" })),
  },
  { title: "AssignmentPatch" },
);
export type AssignmentPatch = typeof AssignmentPatch.static;

/** The fields that a caller set, as answers show them. */
export const ASSIGNMENT_FIELDS = {
  applicationId: t.String({ description: "What uses the certificate there: a name of your own", examples: ["payments-api"] }),
  certificateId: t.String({ description: "The certificate to install", examples: ["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"] }),
  trustStoreType: TrustStoreType,
  ...DEFAULTED,
  config: AssignmentConfig,
};

export const KeyOnHost = t.Boolean({
  description: "Whether the private key is the host's own: its agent made it for a certificate request, and it never leaves the host",
});

const assignment = {
  id: Id,
  organizationId: OrganizationId,
  agentId: AgentId,
  ...ASSIGNMENT_FIELDS,
  keyOnHost: KeyOnHost,
  policyId: Nullable(t.String({ description: "The assignment policy that it belongs to; such an assignment is changed by the policy alone" })),
  version: Version,
  etag: t.String({ description: "Of this version: good for If-Match, and in the body of a change", examples: ['"1"'] }),
  commonName: t.String({ description: "The certificate's", examples: ["Example Root"] }),
  createdAt: CreatedAt,
  updatedAt: UpdatedAt,
};

export const Assignment = Answer(assignment, { title: "Assignment" });
export type Assignment = typeof Assignment.static;
export const HeldSince = Nullable({
  ...DateTime,
  description: "Since when the server does nothing with it, because it was changed in the database and not by a server: hosts keep what they have",
});
const listed = {
  ...assignment,
  removingSince: Nullable({
    ...DateTime,
    description: "Since when it is deleted but for its agent's word that it is gone from the host; then it is not enabled",
  }),
  heldSince: HeldSince,
};
export const ListedAssignment = Answer(listed, { title: "ListedAssignment" });
export const AssignmentWithHistory = Answer(
  {
    ...listed,
    report: Nullable(KeptReport),
    history: t.Array(KeptReport, { description: "The newest twenty reports that said something new, the newest first" }),
  },
  { title: "AssignmentWithHistory" },
);
