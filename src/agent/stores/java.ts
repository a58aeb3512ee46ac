import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { absent } from "../host/files";
import { type Host, pathOn } from "../host/host";
import { resolvePassword } from "../host/password";
import { asSystem, osAnchor } from "../settings/os-anchor";
import { type Store, storeBy, type Target } from "../store";
import { findInKeystore, type Keystore, keystoreStore } from "./keystore";
import { nameOf } from "./system";
import { runHooks, SHIPPED_PASSWORD } from "./system-hooks";

export const javaKeystoreJks = keystoreStore((target, host) => locate(target, host, "JKS"));
export const javaKeystorePkcs12 = keystoreStore((target, host) => locate(target, host, "PKCS12"));

async function locate({ config }: Target, host: Host, format: "JKS" | "PKCS12"): Promise<Keystore> {
  const { trustStorePath = "", storePasswordRef = "" } = config; // both are required for these stores
  return {
    path: pathOn(host, trustStorePath, "trustStorePath"),
    password: await resolvePassword(host, storePasswordRef),
    format,
    passwordRef: storePasswordRef,
  };
}

const locateCacerts = async ({ config }: Target, host: Host): Promise<Keystore> => ({
  path: config.trustStorePath === undefined ? await findCacerts(host) : pathOn(host, config.trustStorePath, "trustStorePath"),
  password: config.storePasswordRef === undefined ? SHIPPED_PASSWORD : await resolvePassword(host, config.storePasswordRef),
  passwordRef: config.storePasswordRef,
});
const cacerts = keystoreStore(locateCacerts);

/** The trust store of the Java that the agent finds, where a distribution may have put a link. */
async function findCacerts({ environment: { JAVA_HOME, PATH }, system: { javaStore } }: Host) {
  const keytool = Bun.which("keytool", PATH === undefined ? {} : { PATH });
  const homes = [...(JAVA_HOME ? [JAVA_HOME, join(JAVA_HOME, "jre")] : []), ...(keytool ? [dirname(dirname(await realpath(keytool)))] : [])];
  for (const each of [...homes.map((home) => join(home, "lib/security/cacerts")), javaStore]) {
    const found = await realpath(each).catch(absent);
    if (found) return found;
  }
  throw new Error("No Java was found on this host. Set JAVA_HOME where the agent runs, or config.trustStorePath.");
}

/** Java's trust store as a distribution makes it from the system's, by a hook of the system's tool. */
const cacertsOfSystem: Store = {
  ...osAnchor,
  async observe(target, material, host) {
    const { certificates, differences } = await osAnchor.observe(target, material, host);
    if (differences.length === 0) differences.push(...(await observeJava(target, material.fingerprint, host)));
    return { certificates, differences };
  },
  /** The tool runs its hooks only for what is new to itself, so that an entry which another program removed is not put back. */
  async install(target, material, transaction) {
    await osAnchor.install(target, material, transaction);
    const isMissing = (await observeJava(target, material.fingerprint, transaction.host)).length > 0;
    if (isMissing) await runHooks(transaction, nameOf(asSystem(target)), "+");
  },
};

async function observeJava(target: Target, fingerprint: string, host: Host) {
  const keystore = await locateCacerts(target, host);
  const isThere = (await findInKeystore(keystore, fingerprint, host)).length > 0;
  return isThere ? [] : [`${keystore.path} lacks it: no hook in ${host.system.hooks} has put it there, as Debian's ca-certificates-java does`];
}

/** The trust store that Java comes with, or the system's, from which a distribution makes it. */
export const javaCacerts = storeBy(({ config }) => (config.preferOsStore ? cacertsOfSystem : cacerts));
