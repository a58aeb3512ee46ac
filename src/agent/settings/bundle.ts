import { certificateBlocks } from "#x509/pem-certificates";
import { expectLoads } from "../host/bundle-reader";
import type { Host } from "../host/host";
import { certificatesIn, fingerprintOf } from "../host/pem";
import type { Store } from "../store";
import type { Transaction } from "../transaction/transaction";
import { blockNames, holdsBlock, readBlock, withBlock, withoutBlock } from "./block";
import type { OneValue } from "./setting";
import { changeText, readText } from "./shared-text";

const ROOTS = "public roots";
const CLAIM = "a block in ";

/** The bundles where the assignment has a block. */
export const bundlesOf = (transaction: Transaction) => transaction.owned(CLAIM).map((each) => each.slice(CLAIM.length));

const linesOf = (pem: string) => pem.trim().split(/\r?\n/);

/**
 * A bundle file with a block for each assignment's certificate. Where our own setting makes a program read it instead of the
 * public roots, these are in a further block.
 */
export function bundleAt(path: string, setting?: OneValue): Store {
  const needsRoots = async (host: Host) => setting !== undefined && !(await setting.isForeign(host));

  return {
    async observe({ assignmentId }, { certificate }, host) {
      const text = (await readText(path)) ?? "";
      const differences = holdsBlock(text, assignmentId, linesOf(certificate)) ? [] : [`${path} lacks the certificate`];
      if ((await needsRoots(host)) && !holdsBlock(text, ROOTS, await readRoots(host)))
        differences.push(`${path} holds other public roots than ${host.system.bundle}`);
      return { certificates: certificatesIn(readBlock(text, assignmentId)?.join("\n") ?? ""), differences };
    },

    async findRemains(_target, { fingerprint }) {
      const holdsIt = certificatesIn((await readText(path)) ?? "").some((each) => fingerprintOf(each) === fingerprint);
      return holdsIt ? [`${path} holds it`] : [];
    },

    async install({ assignmentId }, { certificate }, transaction) {
      const { host } = transaction;
      const roots = (await needsRoots(host)) ? await readRoots(host) : undefined;
      if (roots?.length === 0)
        throw new Error(
          `${host.system.bundle} holds no public roots, and programs would have none by a bundle of their own. Install ca-certificates on this host.`,
        );
      await changeText(transaction, path, (text) => withBlock(roots ? withBlock(text, ROOTS, roots) : text, assignmentId, linesOf(certificate)));
      await transaction.addReference(CLAIM + path);
      await expectLoads(path, host);
    },

    /** The roots go with the last certificate, unless another owner has pointed a program here. */
    async remove({ assignmentId }, transaction, certificate) {
      const keepsRoots = await setting?.isForeign(transaction.host);
      await changeText(transaction, path, (text) => {
        const rest = withoutBlock(text, assignmentId, certificate ? linesOf(certificate) : []);
        return keepsRoots || blockNames(rest).some((name) => name !== ROOTS) ? rest : withoutBlock(rest, ROOTS);
      });
      await transaction.disclaim(CLAIM + path);
    },
  };
}

const readRoots = async ({ system: { bundle } }: Host) => certificateBlocks((await readText(bundle)) ?? "").flatMap(linesOf);
