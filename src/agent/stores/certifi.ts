import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { absent } from "../files";
import { type Host, pathOn } from "../host";
import { osAnchor } from "../settings/os-anchor";
import type { Store, Target } from "../store";
import { runTool } from "../tool";
import { bundleOfOthers } from "./pem-bundle";

const certifiBundle = bundleOfOthers(bundleOf);

/** Python's certifi: its bundle, or the system's store where certifi or the truststore package leads there. */
export const certifi: Store = {
  async observe(target, material, host) {
    if (await isMissing(target, host)) return { certificates: [], faults: [`${pythonOf(target, host)} does not exist`] };
    return (await storeFor(target, host)).observe(target, material, host);
  },
  install: async (target, material, change) => (await storeFor(target, change.host)).install(target, material, change),
  async remove(target, change, certificate) {
    await certifiBundle.remove(target, change, certificate);
    await osAnchor.remove(target, change);
  },
};

async function storeFor(target: Target, host: Host) {
  if ((await bundleOf(target, host)) === host.system.bundle) return osAnchor;
  if (!target.config.preferOsStore) return certifiBundle;
  await runPython(target, host, "-c", "import truststore").catch(({ message }: Error) => {
    throw new Error(`config.preferOsStore needs Python's truststore package, beside certifi: ${message}`);
  });
  return osAnchor;
}

const pythonOf = ({ config: { pythonVenvPath } }: Target, host: Host) =>
  pythonVenvPath === undefined ? "python3" : join(pathOn(host, pythonVenvPath, "pythonVenvPath"), "bin/python");

const isMissing = async (target: Target, host: Host) =>
  target.config.pythonVenvPath !== undefined && (await lstat(pythonOf(target, host)).catch(absent)) === undefined;

async function bundleOf(target: Target, host: Host) {
  const { trustStorePath } = target.config;
  if (trustStorePath !== undefined) return pathOn(host, trustStorePath, "trustStorePath");
  const { stdout } = await runPython(target, host, "-m", "certifi");
  const path = stdout.trim();
  const owner = await ownerOf(target, host);
  if (owner !== undefined && path !== host.system.bundle && (await lstat(path)).uid !== owner.uid)
    throw new Error(`${path}, where certifi leads, belongs to another user than ${target.config.pythonVenvPath}. It is left alone.`);
  return path;
}

/** A virtual environment may be anyone's: what root runs there runs as its owner. */
async function runPython(target: Target, host: Host, ...args: string[]) {
  const user = process.getuid?.() === 0 ? await ownerOf(target, host) : undefined;
  return runTool(host, [pythonOf(target, host), ...args], user && { user });
}

async function ownerOf({ config: { pythonVenvPath } }: Target, host: Host) {
  if (pythonVenvPath === undefined) return undefined;
  const { uid, gid } = await lstat(pathOn(host, pythonVenvPath, "pythonVenvPath"));
  return { uid, gid };
}
