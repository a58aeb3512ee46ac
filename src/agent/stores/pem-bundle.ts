import { type Host, pathOn } from "../host/host";
import { certificatesIn, fingerprintOf } from "../host/pem";
import { hasMarker, outsideBlocks } from "../settings/block";
import { bundleAt, bundlesOf } from "../settings/bundle";
import { readText } from "../settings/shared-text";
import { remainsIn, type Store, type Target } from "../store";

/** A bundle of others, to which the agent adds a block; what they have put there themselves counts, and stays. */
export function bundleOfOthers(pathOf: (target: Target, host: Host) => string | Promise<string>): Store {
  return {
    async observe(target, material, host) {
      const path = await pathOf(target, host);
      const own = await bundleAt(path).observe(target, material, host);
      const text = (await readText(path)) ?? "";
      if (hasMarker(text, target.assignmentId)) return own;
      const foreign = certificatesIn(outsideBlocks(text)).find((each) => fingerprintOf(each) === material.fingerprint);
      return foreign ? { certificates: [foreign], differences: [], isForeign: true } : own;
    },

    findRemains: async (target, material, host) => remainsIn(bundleAt(await pathOf(target, host)), target, material, host),

    install: async (target, material, transaction) => bundleAt(await pathOf(target, transaction.host)).install(target, material, transaction),

    async remove(target, transaction, certificate) {
      for (const path of bundlesOf(transaction)) await bundleAt(path).remove(target, transaction, certificate);
    },
  };
}

export const pemBundle = bundleOfOthers(({ config }, host) => pathOn(host, config.trustStorePath ?? "", "trustStorePath"));
