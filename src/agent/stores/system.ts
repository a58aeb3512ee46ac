import { join, relative } from "node:path";
import { argvOf } from "../host/arguments";
import { expectLoads } from "../host/bundle-reader";
import { readSnapshot, textOf } from "../host/files";
import { certificatesIn, fingerprintOf } from "../host/pem";
import type { Target } from "../store";
import { directoryStore } from "./directory";
import { claimLink, expectOwnEntry, findInJava, removeOwnLink, runHooks, runHooksAfterRollback } from "./system-hooks";

/** The file of an anchor. */
export const nameOf = ({ config, alias }: Target) => config.certFileName ?? `${alias}.crt`;

/** Debian's system store: a file among the local anchors, from which its tool makes what programs read. */
export const systemStore = directoryStore({
  defaultDirectory: ({ system }) => system.anchors,
  parts: (target) => [{ name: nameOf(target), holds: "certificate" }],

  async observe(_directory, _target, { fingerprint }, { system }) {
    const bundle = certificatesIn(textOf(await readSnapshot(system.bundle)));
    return bundle.some((each) => fingerprintOf(each) === fingerprint) ? [] : [`${system.bundle} lacks it`];
  },

  async findRemains(_directory, _target, { fingerprint }, host) {
    const { bundle } = host.system;
    const isInBundle = certificatesIn(textOf(await readSnapshot(bundle))).some((each) => fingerprintOf(each) === fingerprint);
    return [...(isInBundle ? [`${bundle} holds it`] : []), ...(await findInJava(fingerprint, host))];
  },

  check(directory, target, { system: { anchors, update } }) {
    if (relative(anchors, directory).startsWith("..")) throw new Error(`config.trustStorePath must lie in ${anchors}: ${update[0]} reads nothing else.`);
    if (!nameOf(target).endsWith(".crt")) throw new Error(`config.certFileName must end in .crt: ${update[0]} reads nothing else.`);
  },

  /** Runs the tool; after a removal with `--fresh`, without which dead links would stay. */
  async refresh(directory, target, transaction, isRemoval) {
    const { host } = transaction;
    const anchor = join(directory, nameOf(target));
    const afresh = argvOf(host.system.update, "--fresh");
    if (isRemoval) {
      await transaction.afterRollback({ argv: afresh });
      await removeOwnLink(transaction, anchor);
    } else {
      await claimLink(transaction, anchor);
      await expectOwnEntry(host, anchor);
      await runHooksAfterRollback(transaction, nameOf(target));
    }
    await transaction.rebuild(isRemoval ? afresh : host.system.update, afresh);
    if (!isRemoval) await expectLoads(host.system.bundle, host);
    if (isRemoval) await runHooks(transaction, nameOf(target), "-");
  },
});
