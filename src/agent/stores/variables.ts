import { type Host, pathOn } from "../host/host";
import { bundleAt } from "../settings/bundle";
import { osAnchor } from "../settings/os-anchor";
import { bundlePath, pointedStore } from "../settings/pointed";
import { type OneValue, oneValue } from "../settings/setting";
import type { Store, Target } from "../store";

/** Anchors in a bundle that takes the place of the public roots, so that it holds those too; or in the system's store. */
export function bundleOrOs(target: Target, host: Host, settingsFile: string, ...pointTo: ((path: string) => OneValue)[]) {
  const path = bundlePath(target, host, settingsFile);
  if (target.config.preferOsStore || path === host.system.bundle) return { anchors: osAnchor, settings: pointTo.map((each) => each(host.system.bundle)) };
  const settings = pointTo.map((each) => each(path));
  return { anchors: bundleAt(path, settings[0]), settings };
}

/** A program that reads the bundle which an environment variable names. */
const variableStore = (name: string): Store =>
  pointedStore((target, host) => {
    const file = envFileOf(target, host);
    return bundleOrOs(target, host, file, (path) => oneValue({ file, name }, path));
  });

export const envFileOf = ({ config: { envFilePath = "" } }: Target, host: Host) => pathOn(host, envFilePath, "envFilePath");

/** SSL_CERT_DIR keeps its default: programs that read it find the system's anchors there as before. */
export const sslCertFile = variableStore("SSL_CERT_FILE");
export const requestsBundle = variableStore("REQUESTS_CA_BUNDLE");
