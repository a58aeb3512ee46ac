import configFields from "./config-fields.json";

export type TrustStoreType = keyof typeof configFields.types;
export const TRUST_STORE_TYPES = Object.keys(configFields.types) as TrustStoreType[];
