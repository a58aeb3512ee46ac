import { join } from "node:path";
import { remainsIn, type Store, type Target } from "../store";
import { systemStore } from "../stores/system";

const aliasOf = ({ assignmentId }: Target) => `certitude-${assignmentId}`;
/** Its place in the system's store. */
export const asSystem = (target: Target): Target => ({ ...target, storeType: "linux_update_ca_certificates", alias: aliasOf(target), config: {} });

/** An assignment's anchor in the system's store, for a program that is set to read that; under a name that no other assignment has. */
export const osAnchor: Store = {
  observe: (target, material, host) => systemStore.observe(asSystem(target), material, host),
  install: (target, material, transaction) => systemStore.install(asSystem(target), material, transaction),
  findRemains: (target, material, host) => remainsIn(systemStore, asSystem(target), material, host),
  async remove(target, transaction) {
    if (transaction.owns(join(transaction.host.system.anchors, `${aliasOf(target)}.crt`))) await systemStore.remove(asSystem(target), transaction);
  },
};
