import type { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { bundleAt } from "../settings/bundle";
import { osAnchor } from "../settings/os-anchor";
import { bundlePath, pointedStore } from "../settings/pointed";
import { oneValue, someWords } from "../settings/setting";
import type { Transaction } from "../transaction/transaction";
import { envFileOf } from "./variables";

/** Node.js, by a bundle that adds to its own list, or by the system's store; and by flags. */
export const nodeExtraCerts = pointedStore((target, host) => {
  const file = envFileOf(target, host);
  const { preferOsStore, useOpensslCa } = target.config;
  const path = bundlePath(target, host, file);
  const flags = flagsOf(target.config);
  const options = flags === "" ? [] : [someWords({ file, name: "NODE_OPTIONS" }, flags, expectAccepted)];
  if (!preferOsStore) return { anchors: bundleAt(path), settings: [oneValue({ file, name: "NODE_EXTRA_CA_CERTS" }, path), ...options] };
  const opensslBundle = useOpensslCa ? [oneValue({ file, name: "SSL_CERT_FILE" }, host.system.bundle)] : [];
  return { anchors: osAnchor, settings: [...opensslBundle, ...options] };
});

function flagsOf({ preferOsStore, useOpensslCa, nodeFlags = [] }: AssignmentConfig) {
  const broken = nodeFlags.find((each) => /\p{Cc}/u.test(each));
  if (broken !== undefined) throw new Error("config.nodeFlags must not hold line breaks or other control characters.");
  const own = useOpensslCa ? ["--use-openssl-ca"] : preferOsStore ? ["--use-system-ca"] : [];
  return [...own, ...nodeFlags.map((each) => (/["\s]/.test(each) ? `"${each.replace(/["\\]/g, "\\$&")}"` : each))].join(" ");
}

/** With a flag in NODE_OPTIONS that it does not take, node would not even start. */
async function expectAccepted(transaction: Transaction, flags: string) {
  await transaction.run(["node", "--eval", ""], { environment: { NODE_OPTIONS: flags } }).catch(({ message }: Error) => {
    const help = flags.includes("--use-system-ca")
      ? " A node without --use-system-ca reads the system's store with config.useOpensslCa beside config.preferOsStore."
      : "";
    throw new Error(`node does not start with NODE_OPTIONS=${flags}: ${message}${help}`);
  });
}
