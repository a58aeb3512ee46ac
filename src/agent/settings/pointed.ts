import { basename, dirname, join } from "node:path";
import { type Host, pathOn } from "../host/host";
import { remainsIn, type Store, type Target } from "../store";
import { osAnchor } from "./os-anchor";
import type { Setting } from "./setting";

/** The place of a program's anchors, and the settings that name it. */
type Pointing = { anchors: Store; settings: Setting[] };

/**
 * A store of a program that finds its anchors by settings: those come after the anchors, and go before them, unless the anchors
 * are the system's.
 */
export function pointedStore(pointingOf: (target: Target, host: Host) => Pointing | Promise<Pointing>): Store {
  return {
    async observe(target, material, host) {
      const { anchors, settings } = await pointingOf(target, host);
      const { certificates, differences } = await anchors.observe(target, material, host);
      for (const each of settings) differences.push(...(await each.observe(host)));
      return { certificates, differences };
    },

    /** The system's store is read with or without a setting; another bundle only where one leads there. */
    async findRemains(target, material, host) {
      const { anchors, settings } = await pointingOf(target, host);
      for (const each of settings) if (anchors !== osAnchor && (await each.observe(host)).length > 0) return [];
      return remainsIn(anchors, target, material, host);
    },

    async install(target, material, transaction) {
      const { anchors, settings } = await pointingOf(target, transaction.host);
      await anchors.install(target, material, transaction);
      for (const each of settings) await each.install(transaction);
    },

    async remove(target, transaction, certificate) {
      const { anchors, settings } = await pointingOf(target, transaction.host);
      // The system's bundle is there without the anchor too: what waits for its rebuild has changed no file of settings yet.
      if (anchors === osAnchor) await anchors.remove(target, transaction, certificate);
      for (const each of settings) await each.remove(transaction);
      if (anchors !== osAnchor) await anchors.remove(target, transaction, certificate);
    },
  };
}

/** The bundle that the config names, else one next to the file of settings, so that readers of that file can read it. */
export function bundlePath({ storeType, config: { trustStorePath, certFileName } }: Target, host: Host, settingsFile: string) {
  if (trustStorePath === undefined) return certFileName ? join(dirname(settingsFile), certFileName) : `${settingsFile}.${storeType}.pem`;
  const path = pathOn(host, trustStorePath, "trustStorePath");
  return certFileName === undefined || basename(path) === certFileName ? path : join(path, certFileName);
}
