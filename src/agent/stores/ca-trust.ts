import { relative } from "node:path";
import { expectLoads } from "../host/bundle-reader";
import { readSnapshot, textOf } from "../host/files";
import type { Host } from "../host/host";
import { certificatesIn, fingerprintOf } from "../host/pem";
import { directoryStore } from "./directory";

const isInBundle = async (fingerprint: string, { caTrust: { bundle } }: Host) =>
  certificatesIn(textOf(await readSnapshot(bundle))).some((each) => fingerprintOf(each) === fingerprint);

/** The system store of Red Hat's kind: a file among the source anchors, from which `update-ca-trust` extracts by p11-kit's `trust`. */
export const caTrustStore = directoryStore({
  defaultDirectory: ({ caTrust }) => caTrust.anchors,
  parts: ({ config, alias }) => [{ name: config.certFileName ?? `${alias}.crt`, holds: "certificate" }],
  observe: async (_directory, _target, { fingerprint }, host) => ((await isInBundle(fingerprint, host)) ? [] : [`${host.caTrust.bundle} lacks it`]),
  findRemains: async (_directory, _target, { fingerprint }, host) => ((await isInBundle(fingerprint, host)) ? [`${host.caTrust.bundle} holds it`] : []),
  check(directory, _target, { caTrust: { anchors, update } }) {
    if (relative(anchors, directory).startsWith(".."))
      throw new Error(`config.trustStorePath must lie in ${anchors}: ${update[0]} takes every file there for an anchor.`);
  },
  async refresh(_directory, _target, transaction, isRemoval) {
    const { host } = transaction;
    await transaction.rebuild(host.caTrust.update);
    if (!isRemoval) await expectLoads(host.caTrust.bundle, host);
  },
});
