import { isDeepStrictEqual } from "node:util";
import { configRulesOf, MATERIAL_TYPES, type MaterialType, materialsOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { isInstallable } from "#modules/fleet/trust-stores/rules/installable";
import { TRUST_STORE_TYPES, type TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { isPath, valueFault } from "#modules/fleet/trust-stores/rules/values";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";
import {
  type Assignment,
  type AssignmentConfig,
  type AssignmentConfigPatch,
  type AssignmentPatch,
  type ConfigField,
  DEFAULTS,
  type NewAssignment,
} from "./schema/assignments";

/** Returns the first value that no store would take or, with a type, that this store would not: as a sentence that never repeats it. */
export function findMalformed(config: AssignmentConfigPatch, type?: TrustStoreType) {
  for (const [field, value] of Object.entries(config)) {
    const must = valueFault(field, value, type);
    if (must !== undefined) return `body.config.${field} ${must}.`;
  }
}

/**
 * The first path that no agent could follow, which runs nowhere in particular. The names of other stores (Kubernetes, Windows)
 * have other forms.
 */
function findRelative(type: TrustStoreType, config: AssignmentConfigPatch) {
  if (!isInstallable(type)) return;
  for (const [field, value] of Object.entries(config)) {
    if (isPath(field) && typeof value === "string" && !/^(\/|~\/)/.test(value))
      return `body.config.${field} must be an absolute path, such as /etc/ssl/example, or begin with ~/.`;
  }
}

const OPTIONAL = new Map(TRUST_STORE_TYPES.map((type) => [type, new Set(configRulesOf(type).optional)]));
const KNOWN = new Map(TRUST_STORE_TYPES.map((type) => [type, new Set([...configRulesOf(type).required, ...configRulesOf(type).optional])]));
const isOptional = (type: TrustStoreType, field: string) => OPTIONAL.get(type)?.has(field) === true;
const isKnown = (type: TrustStoreType, field: string) => KNOWN.get(type)?.has(field) === true;

/** Advice where a field does not apply though its purpose can be met. */
const ADVICE: { [Type in TrustStoreType]?: Partial<Record<string, string>> } = {
  git_http_sslcainfo: { dbUser: " git is configured for the account that the agent runs as: run an agent as the other account, and assign it to that one." },
};

/** The first field that this store knows nothing of, cannot do without, or cannot have with this value. */
export function findConfigFault(type: TrustStoreType, patch: AssignmentConfigPatch) {
  for (const [field, value] of Object.entries(patch)) {
    if (!isKnown(type, field)) return `body.config.${field} does not apply to ${type}.${ADVICE[type]?.[field] ?? ""}`;
    if (value === null && !isOptional(type, field)) return `body.config.${field} is required for ${type} and cannot be removed.`;
  }
  return findMalformed(patch, type) ?? findRelative(type, patch);
}

/** Either of them says where pem_files are. */
const PEM_FILES_PLACES = ["trustStorePath", "preset"] satisfies ConfigField[];
const NO_PLACE = "body.config.trustStorePath is required for pem_files without a preset: the directory of the files.";
const hasNoPlace = (type: TrustStoreType, config: AssignmentConfig) => type === "pem_files" && !PEM_FILES_PLACES.some((field) => field in config);

/** A new config with the store's defaults in place, or what is wrong with it. */
export function completeConfig(type: TrustStoreType, given: AssignmentConfig): { config: AssignmentConfig } | { invalid: string } {
  const { required, defaults } = configRulesOf(type);
  const missing = required.find((field) => !Object.hasOwn(given, field));
  const invalid = missing ? `body.config.${missing} is required for ${type}.` : (findMalformed(given) ?? findConfigFault(type, given));
  return invalid === undefined ? { config: { ...defaults, ...given } } : { invalid };
}

/** Returns the config as the merge patch makes it: null removes, and a default of the store takes the place of what was removed. */
export function patchConfig(type: TrustStoreType, config: AssignmentConfig, patch: AssignmentConfigPatch): AssignmentConfig {
  const removed = Object.keys(patch).filter((field) => patch[field as ConfigField] === null);
  const defaults = Object.entries(configRulesOf(type).defaults).filter(([field]) => removed.includes(field));
  const merged = Object.entries({ ...config, ...patch }).filter(([field]) => !removed.includes(field));
  return Object.fromEntries([...defaults, ...merged]);
}

const STORES = new Map(MATERIAL_TYPES.map((material) => [material, TRUST_STORE_TYPES.filter((type) => materialsOf(type).includes(material))]));
export const storesFor = (material: MaterialType) => STORES.get(material) ?? [];

/** The material of a store by default: a server's own certificate, or else an anchor. */
const defaultMaterialOf = (type: TrustStoreType) => MATERIAL_TYPES.find((each) => each === materialsOf(type)[0]) ?? DEFAULTS.materialType;

export const unknownMaterial = (type: TrustStoreType) => `body.materialType must be one of ${materialsOf(type).join(", ")} for ${type}.`;

const OWN_KEY =
  "The private key is the host's own: body.includePrivateKey must be false, and another certificate comes by a certificate request, which makes a new key.";
const ANCHOR_WITH_KEY = "A trust anchor is public: body.includePrivateKey must be false where the materialType is trust_anchor.";

/** The assignment with every default in place, or what is wrong with it whatever is stored here. */
export function readNewAssignment(body: NewAssignment) {
  const { config = {}, ...given } = { ...DEFAULTS, materialType: defaultMaterialOf(body.trustStoreType), ...body };
  if (!storesFor(given.materialType).includes(given.trustStoreType)) return { invalid: unknownMaterial(given.trustStoreType) };
  if (given.materialType === "trust_anchor" && given.includePrivateKey) return { invalid: ANCHOR_WITH_KEY };
  if (hasNoPlace(given.trustStoreType, config)) return { invalid: NO_PLACE };
  const complete = completeConfig(given.trustStoreType, config);
  return "invalid" in complete ? complete : { ...given, config: complete.config };
}

/** Returns the assignment as the patch makes it. */
export function patchAssignment(before: Assignment, { config, version: _, etag: __, ...patch }: AssignmentPatch): Assignment {
  const after = { ...before, ...patch, config: config ? patchConfig(before.trustStoreType, before.config, config) : before.config };
  return { ...after, certificateId: after.certificateId.toLowerCase() };
}

/** Returns what is wrong with the assignment that a patch makes, whatever its certificate is. */
export function findFault(before: Assignment, after: Assignment, { config, materialType }: AssignmentPatch): string | undefined {
  const type = before.trustStoreType;
  const fault = config && findConfigFault(type, config);
  if (fault !== undefined) return fault;
  if (config && hasNoPlace(type, after.config)) return NO_PLACE;
  if (materialType && !storesFor(materialType).includes(type)) return unknownMaterial(type);
  if (after.materialType === "trust_anchor" && after.includePrivateKey) return ANCHOR_WITH_KEY;
  if (before.keyOnHost && (after.includePrivateKey || after.certificateId !== before.certificateId)) return OWN_KEY;
}

/** Returns the old and new value of each fact, and of each field of the config, that differs. */
export function compareFacts<Facts extends { config: AssignmentConfig }>(before: Facts, after: Facts) {
  const [old, now] = [flatten(before), flatten(after)];
  const names = Object.keys({ ...old, ...now }).filter((name) => !isDeepStrictEqual(old[name], now[name]));
  return Object.fromEntries(names.map((name) => [name, { from: old[name] ?? null, to: now[name] ?? null }]));
}

const flatten = ({ config, ...facts }: { config: AssignmentConfig }): Record<string, unknown> => ({
  ...facts,
  ...Object.fromEntries(Object.entries(config).map(([field, value]) => [`config.${field}`, value])),
});

/** Why a certificate cannot play the part that an assignment gives it. */
export type Ineligible = "no certificate" | "not active" | "no authority" | "no key";

export const INELIGIBLE: Record<Exclude<Ineligible, "no certificate">, string> = {
  "not active": "body.certificateId must name a certificate that is neither revoked nor retired.",
  "no authority": "body.certificateId must name a CA certificate, or a self-signed one, where the materialType is trust_anchor or intermediate_ca.",
  "no key": "body.includePrivateKey must be false: the private key of this certificate is not stored here.",
};

export const NO_CERTIFICATE = "There is no such certificate in this organization.";

export const describeIneligible = (reason: Ineligible): { missing: string } | { invalid: string } =>
  reason === "no certificate" ? { missing: NO_CERTIFICATE } : { invalid: INELIGIBLE[reason] };

export const nameOfPolicy = (policy: { id: string; name: string | null }) =>
  policy.name === null ? policy.id : `${JSON.stringify(policy.name)} (${policy.id})`;

/** The policy that has a place, and its assignment there. */
export type Holder = { policyId: string; policyName: string | null; assignmentId: string };

/** Why an assignment cannot come to a place of the agent. */
export const describeHolder = ({ policyId, policyName, assignmentId }: Holder, agentId: string) =>
  `The policy ${nameOfPolicy({ id: policyId, name: policyName })} has this place on the agent ${agentId}, by the assignment ${assignmentId}.`;

/** Why an assignment is not changed alone. */
export const describeOwner = (assignmentId: string, policyId: string) =>
  `The assignment ${assignmentId} belongs to the policy ${policyId}. Change or delete the policy, or change the labels of the agent.`;

/** Why a row whose stamp does not hold commands nothing. */
export const heldSentence = (what: "assignment" | "policy" | "rollout", id: string) =>
  `The ${what} ${id} is held: it ${UNPROVEN}. Hosts keep what they have. ${TO_TRUST}`;

export const describeHeld = (id: string) => `${heldSentence("assignment", id)} Or delete it and create it again.`;
