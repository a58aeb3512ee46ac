import type { AssignmentConfig } from "#modules/fleet/assignments/schema/assignments";
import { argvOf } from "../host/arguments";
import { runProgram } from "../host/program";
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
  const words = flags.map((each) => (/["\s]/.test(each) ? `"${each.replace(/["\\]/g, "\\$&")}"` : each)).join(" ");
  const options = flags.length === 0 ? [] : [someWords({ file, name: "NODE_OPTIONS" }, words, (transaction, all) => expectTaken(transaction, flags, all))];
  if (!preferOsStore) return { anchors: bundleAt(path), settings: [oneValue({ file, name: "NODE_EXTRA_CA_CERTS" }, path), ...options] };
  const opensslBundle = useOpensslCa ? [oneValue({ file, name: "SSL_CERT_FILE" }, host.system.bundle)] : [];
  return { anchors: osAnchor, settings: [...opensslBundle, ...options] };
});

function flagsOf({ preferOsStore, useOpensslCa, nodeFlags = [] }: AssignmentConfig) {
  const own = useOpensslCa ? [OPENSSL_CA] : preferOsStore ? [SYSTEM_CA] : [];
  return [...own, ...nodeFlags];
}

const OPENSSL_CA = "--use-openssl-ca";
const SYSTEM_CA = "--use-system-ca";
const BUNDLED_CA = "--use-bundled-ca";
const LIST_FLAGS = "console.log([...process.allowedNodeEnvironmentFlags].join('\\n'))";

/**
 * With a flag in NODE_OPTIONS that it does not take, node would not even start. It is asked which it takes: trying a flag could
 * run what it loads.
 */
async function expectTaken({ host }: Transaction, flags: string[], all: string) {
  if ([OPENSSL_CA, BUNDLED_CA].every((each) => all.includes(each)))
    throw new Error(`node does not start with both ${OPENSSL_CA} and ${BUNDLED_CA} in NODE_OPTIONS. Take one of them away.`);
  const taken = new Set((await runProgram(host, argvOf("node", "--eval", LIST_FLAGS))).stdout.trim().split("\n"));
  const unknown = flags.find((each) => !taken.has(each.split("=")[0] ?? ""));
  if (unknown === undefined) return;
  const help = unknown === SYSTEM_CA ? " It reads the system's store with config.useOpensslCa beside config.preferOsStore." : "";
  throw new Error(`node does not take ${unknown} in NODE_OPTIONS, and would not start.${help}`);
}
