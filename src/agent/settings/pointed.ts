import { basename, dirname, join } from "node:path";
import { type Host, pathOn } from "../host/host";
import type { Store, Target } from "../store";
import type { Setting } from "./setting";

/** Where a program's anchors lie, and what tells it. */
type Pointing = { anchors: Store; settings: Setting[] };

/** A store of a program that finds its anchors by settings: those come after the anchors, and go before them. */
export function pointedStore(pointingOf: (target: Target, host: Host) => Pointing | Promise<Pointing>): Store {
  return {
    async observe(target, material, host) {
      const { anchors, settings } = await pointingOf(target, host);
      const { certificates, faults } = await anchors.observe(target, material, host);
      for (const each of settings) faults.push(...(await each.observe(host)));
      return { certificates, faults };
    },

    async install(target, material, change) {
      const { anchors, settings } = await pointingOf(target, change.host);
      await anchors.install(target, material, change);
      for (const each of settings) await each.install(change);
    },

    async remove(target, change, certificate) {
      const { anchors, settings } = await pointingOf(target, change.host);
      for (const each of settings) await each.remove(change);
      await anchors.remove(target, change, certificate);
    },
  };
}

/** The bundle that the config names, else one beside the file of settings, where whoever reads that can read it. */
export function bundlePath({ storeType, config: { trustStorePath, certFileName } }: Target, host: Host, settingsFile: string) {
  if (trustStorePath === undefined) return certFileName ? join(dirname(settingsFile), certFileName) : `${settingsFile}.${storeType}.pem`;
  const path = pathOn(host, trustStorePath, "trustStorePath");
  return certFileName === undefined || basename(path) === certFileName ? path : join(path, certFileName);
}
