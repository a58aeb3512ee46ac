import { chmodSync, mkdirSync } from "node:fs";
import { permittedCall } from "#agent/host/arguments";
import type { Host } from "#agent/host/host";
import { put } from "./store-behaviour";

/**
 * A scratch system of Red Hat's kind on Debian: `update` extracts the bundle by p11-kit's trust from the scratch source, as an
 * ordinary user, because p11-kit takes no user's configuration from root.
 */
export function withScratchCaTrust(host: Host, directory: string): Host {
  chmodSync(directory, 0o711);
  const [source, made] = [`${directory}/source`, `${directory}/extracted`];
  for (const each of [`${source}/anchors`, made]) mkdirSync(each, { recursive: true });
  chmodSync(made, 0o777);
  const module = `module: p11-kit-trust.so\ntrust-policy: yes\nx-init-reserved: paths='${source}'\n`;
  put(`${directory}/p11/.config/pkcs11/modules/p11-kit-trust.module`, module);
  const bundle = `${made}/tls-ca-bundle.pem`;
  const extract = ["trust", "extract", "--format=pem-bundle", "--filter=ca-anchors", "--overwrite", "--comment", "--purpose", "server-auth", bundle];
  const update = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", `HOME=${directory}/p11`, ...extract];
  return { ...host, caTrust: { anchors: `${source}/anchors`, bundle, update: permittedCall(update) } };
}
