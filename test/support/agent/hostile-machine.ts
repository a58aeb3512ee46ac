import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { certificatesIn, fingerprintOf } from "#agent/host/pem";
import { newAuthority } from "../pki/authority";
import { keytool } from "../pki/java";
import { desired, newAgentHost } from "./agent-host";
import { runOnPrivateMachine } from "./private-machine";

const JAVA = { path: "/etc/ssl/certs/java/cacerts", password: "changeit" };
const ANCHORS = "/usr/local/share/ca-certificates";
const FILE = "/etc/ssl/certs/operator.pem";
const ENTRY = "debian:entry.pem";

/** Anchors that would replace a file of the operator, an entry of Java's trust store, or nothing; on a machine of its own. */
export const watchAnchors = () => runOnPrivateMachine(import.meta.path);

if (import.meta.main) {
  const [agent, authority, operators] = await Promise.all([newAgentHost(), newAuthority(), newAuthority()]);
  const before = readdirSync(ANCHORS);
  writeFileSync(FILE, operators.root.pem);
  await keytool(JAVA, "-importcert", ["-noprompt", "-alias", ENTRY], operators.root.pem);
  const entryOf = async () => certificatesIn(await keytool(JAVA, "-list", ["-rfc", "-alias", ENTRY])).map(fingerprintOf);

  async function conduct(alias: string) {
    const result = await agent.pass(desired(authority.root, { trustStoreType: "linux_update_ca_certificates", config: { alias } }));
    const isKept = readFileSync(FILE, "utf8") === operators.root.pem && (await entryOf()).join() === operators.root.fingerprint;
    return { result, isKept, anchors: readdirSync(ANCHORS).filter((name) => !before.includes(name)) };
  }

  console.info(JSON.stringify({ file: await conduct("operator"), entry: await conduct("entry"), free: await conduct("free") }));
  authority.remove();
  operators.remove();
  agent.remove();
}
