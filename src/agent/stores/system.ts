import { relative } from "node:path";
import { readSnapshot, textOf } from "../host/files";
import { certificatesIn, fingerprintOf } from "../host/pem";
import { directoryStore } from "./directory";

/** Debian's system store: a file among the local anchors, from which its tool makes what programs read. */
export const systemStore = directoryStore({
  defaultDirectory: ({ system }) => system.anchors,
  parts: ({ config, alias }) => [{ name: config.certFileName ?? `${alias}.crt`, holds: "certificate" }],

  async observe(_directory, _target, { fingerprint }, { system }) {
    const bundle = certificatesIn(textOf(await readSnapshot(system.bundle)));
    return bundle.some((each) => fingerprintOf(each) === fingerprint) ? [] : [`${system.bundle} lacks it`];
  },

  check(directory, { config, alias }, { system: { anchors, update } }) {
    if (relative(anchors, directory).startsWith("..")) throw new Error(`config.trustStorePath must lie in ${anchors}: ${update[0]} reads nothing else.`);
    if (!(config.certFileName ?? `${alias}.crt`).endsWith(".crt")) throw new Error(`config.certFileName must end in .crt: ${update[0]} reads nothing else.`);
  },

  /** What has gone leaves links that lead nowhere, unless everything is made afresh. */
  refresh(_directory, _target, transaction, isRemoval) {
    const { update } = transaction.host.system;
    const afresh = [...update, "--fresh"];
    return transaction.reload(isRemoval ? afresh : update, { rerun: afresh });
  },
});
