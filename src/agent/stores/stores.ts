import type { TrustStoreType } from "../../modules/trust-stores/catalogue";
import type { Store } from "../store";
import { opensslDirectory } from "./openssl";
import { systemStore } from "./system";

/** Every store that this agent installs. */
export const STORES: Partial<Record<TrustStoreType, Store>> = {
  linux_update_ca_certificates: systemStore,
  openssl_ca_dir: opensslDirectory,
};

export function storeOf(type: TrustStoreType) {
  const store = STORES[type];
  if (!store) throw new Error(`This agent cannot install into ${type}. Assign it to an agent that can.`);
  return store;
}
