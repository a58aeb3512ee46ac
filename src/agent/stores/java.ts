import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { absent } from "../host/files";
import { type Host, pathOn } from "../host/host";
import { resolvePassword } from "../host/password";
import { osAnchor } from "../settings/os-anchor";
import type { Store, Target } from "../store";
import { type Keystore, keystoreStore } from "./keystore";

/** The password that every JDK ships its trust store with. */
const SHIPPED_PASSWORD = "changeit";
const DEBIAN = "/etc/ssl/certs/java/cacerts";

export const javaKeystoreJks = keystoreStore((target, host) => locate(target, host, "JKS"));
export const javaKeystorePkcs12 = keystoreStore((target, host) => locate(target, host, "PKCS12"));

async function locate({ config }: Target, host: Host, format: "JKS" | "PKCS12"): Promise<Keystore> {
  const { trustStorePath = "", storePasswordRef = "" } = config; // both are required for these stores
  return { path: pathOn(host, trustStorePath, "trustStorePath"), password: await resolvePassword(host, storePasswordRef), format };
}

const cacerts = keystoreStore(async ({ config }, host) => ({
  path: config.trustStorePath === undefined ? await findCacerts(host) : pathOn(host, config.trustStorePath, "trustStorePath"),
  password: config.storePasswordRef === undefined ? SHIPPED_PASSWORD : await resolvePassword(host, config.storePasswordRef),
}));

/** The trust store of the Java that the agent finds, where a distribution may have put a link. */
async function findCacerts({ environment: { JAVA_HOME, PATH } }: Host) {
  const keytool = Bun.which("keytool", PATH === undefined ? {} : { PATH });
  const homes = [...(JAVA_HOME ? [JAVA_HOME, join(JAVA_HOME, "jre")] : []), ...(keytool ? [dirname(dirname(await realpath(keytool)))] : [])];
  for (const each of [...homes.map((home) => join(home, "lib/security/cacerts")), DEBIAN]) {
    const found = await realpath(each).catch(absent);
    if (found) return found;
  }
  throw new Error("No Java was found on this host. Set JAVA_HOME where the agent runs, or config.trustStorePath.");
}

const storeFor = ({ config }: Target) => (config.preferOsStore ? osAnchor : cacerts);

/** The trust store that Java comes with, or the system's, from which a distribution makes it. */
export const javaCacerts: Store = {
  observe: (target, material, host) => storeFor(target).observe(target, material, host),
  install: (target, material, transaction) => storeFor(target).install(target, material, transaction),
  remove: (target, transaction) => storeFor(target).remove(target, transaction),
};
