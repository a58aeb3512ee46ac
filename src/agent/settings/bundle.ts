import type { Change } from "../change";
import type { Host } from "../host";
import { certificatesIn } from "../pem";
import type { Store } from "../store";
import { blockNames, holdsBlock, readBlock, withBlock, withoutBlock } from "./block";
import type { OneValue } from "./setting";
import { changeText, readText } from "./shared-text";

const ROOTS = "public roots";
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const CLAIM = "a block in ";

/** The bundles where the assignment has a block. */
export const bundlesOf = (change: Change) => change.owned(CLAIM).map((each) => each.slice(CLAIM.length));

const linesOf = (pem: string) => pem.trim().split(/\r?\n/);

/**
 * A bundle file: the certificate of each assignment in a block of its own. Where a program reads it instead of the public roots, by a setting
 * of the agent, those are in another block; whoever else set it so has chosen what the bundle holds.
 */
export function bundleAt(path: string, setting?: OneValue): Store {
  const readRootsFor = async (host: Host) => (setting && !(await setting.isForeign(host)) ? await readRoots(host) : undefined);

  return {
    async observe({ assignmentId }, { certificate }, host) {
      const text = (await readText(path)) ?? "";
      const roots = await readRootsFor(host);
      const faults = holdsBlock(text, assignmentId, linesOf(certificate)) ? [] : [`${path} lacks the certificate`];
      if (roots && !holdsBlock(text, ROOTS, roots)) faults.push(`${path} holds other public roots than ${host.system.bundle}`);
      return { certificates: certificatesIn(readBlock(text, assignmentId)?.join("\n") ?? ""), faults };
    },

    async install({ assignmentId }, { certificate }, change) {
      const roots = await readRootsFor(change.host);
      await changeText(change, path, (text) => {
        const rooted = roots ? withBlock(text, ROOTS, roots) : text;
        return withBlock(rooted, assignmentId, linesOf(certificate));
      });
      await change.share(CLAIM + path);
    },

    /** The roots go with the last certificate, unless somebody else has pointed a program here. */
    async remove({ assignmentId }, change, certificate) {
      const keepsRoots = await setting?.isForeign(change.host);
      await changeText(change, path, (text) => {
        const rest = withoutBlock(text, assignmentId, certificate ? linesOf(certificate) : []);
        return keepsRoots || blockNames(rest).some((name) => name !== ROOTS) ? rest : withoutBlock(rest, ROOTS);
      });
      await change.disclaim(CLAIM + path);
    },
  };
}

async function readRoots({ system: { bundle } }: Host) {
  const found = (await readText(bundle))?.match(CERTIFICATE);
  if (!found) throw new Error(`${bundle} holds no public roots, which a program would lose with a bundle of its own. Install ca-certificates on this host.`);
  return found.flatMap(linesOf);
}
