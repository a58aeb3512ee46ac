import catalog from "./catalog.json";
import configFields from "./config-fields.json";
import { isInstallable } from "./installable";
import type { TrustStoreType } from "./store-types";

export const MATERIAL_TYPES = ["trust_anchor", "intermediate_ca", "server_certificate", "client_certificate"] as const;
export type MaterialType = (typeof MATERIAL_TYPES)[number];

type ConfigRules = { required: readonly string[]; optional: readonly string[]; defaults: Record<string, string | string[]> };
const CONFIG_RULES: Record<TrustStoreType, ConfigRules> = configFields.types;
const MATERIALS = new Map<string, readonly string[]>(catalog.items.map((each) => [each.trustStoreType, each.materialTypes]));

/** Which fields of a config a store needs or takes, and what it assumes. */
export const configRulesOf = (type: TrustStoreType) => CONFIG_RULES[type];
export const materialsOf = (type: TrustStoreType) => MATERIALS.get(type) ?? [];

/** The whole answer. */
export const CATALOGUE_JSON = JSON.stringify({
  ...catalog,
  items: catalog.items.map((each) => ({ ...each, agentInstallable: isInstallable(each.trustStoreType) })),
});
