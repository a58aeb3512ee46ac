import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { trusts } from "./tls-clients";

type Keystore = { path: string; password: string };

/** Java at either end of TLS, compiled once. */
export async function newJava() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-java-"));
  await Bun.$`javac -d ${directory} ${join(import.meta.dir, "TlsPeer.java")}`.quiet();
  const start = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", directory];
  const as = (role: "trust" | "key", { path, password }: Keystore) => [
    `-Djavax.net.ssl.${role}Store=${path}`,
    `-Djavax.net.ssl.${role}StorePassword=${password}`,
  ];

  return {
    /** Returns whether Java accepts a server with this trust store; with a key store, also whether the server accepts Java. */
    trusts: (url: string, trustStore: Keystore, keyStore?: Keystore) =>
      trusts([...start, ...as("trust", trustStore), ...(keyStore ? as("key", keyStore) : []), "TlsPeer", url]),
    /** A server in Java with this key store. */
    async serve(keyStore: Keystore) {
      const child = Bun.spawn([...start, ...as("key", keyStore), "TlsPeer"], { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
      const { value } = await child.stdout.getReader().read();
      return {
        port: Number(Buffer.from(value ?? []).toString()),
        async stop() {
          child.kill();
          await child.exited;
        },
      };
    },
    remove: () => rmSync(directory, { recursive: true }),
  };
}

/** Runs keytool on a keystore as its owner, not as the agent. */
export async function keytool({ path, password }: Keystore, action: string, args: string[] = [], input = "") {
  const argv = ["keytool", "-J-XX:TieredStopAtLevel=1", action, ...args, "-keystore", path, "-storepass:env", "PASSWORD"];
  const child = Bun.spawn(argv, { env: { ...Bun.env, PASSWORD: password }, stdin: Buffer.from(input), stdout: "pipe", stderr: "ignore" });
  const [stdout, code] = await Promise.all([child.stdout.text(), child.exited]);
  if (code !== 0) throw new Error(`keytool ${action}: ${stdout}`);
  return stdout;
}
