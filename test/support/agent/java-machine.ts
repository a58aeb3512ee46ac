import type { Desired } from "#agent/server-client";
import { keytool, newJava } from "../pki/java";
import { desired, newAgentHost } from "./agent-host";
import { runOnPrivateMachine } from "./private-machine";
import { newParties } from "./store-behaviour";

const MACHINE = { path: "/etc/ssl/certs/java/cacerts", password: "changeit" };

/** Holds dpkg's lock, as an upgrade does, until it is called. */
async function lockDpkg() {
  const hold = 'import fcntl, sys; f = open("/var/lib/dpkg/lock", "w"); fcntl.lockf(f, fcntl.LOCK_EX); print("held", flush=True); sys.stdin.read()';
  const child = Bun.spawn(["python3", "-c", hold], { stdin: "pipe", stdout: "pipe" });
  await child.stdout.getReader().read();
  return async () => {
    await child.stdin.end();
    await child.exited;
  };
}

/** What Java makes of a server while the agent installs its authority's root by the system's store, heals it and removes it; on a machine of its own. */
export const watchJava = () => runOnPrivateMachine(import.meta.path);

if (import.meta.main) {
  const [agent, parties, java] = await Promise.all([newAgentHost(), newParties(), newJava()]);
  const isTrusting = () => java.trusts(parties.server.url, MACHINE);

  async function conduct(trustStoreType: "linux_update_ca_certificates" | "java_cacerts", more: Desired["config"]) {
    const item = (config: Desired["config"] = {}) => desired(parties.authority.root, { trustStoreType, config: { alias: "corp (a b)", ...more, ...config } });
    const first = item();
    const seen: Record<string, unknown> = { before: await isTrusting(), installed: await agent.pass(first), trusted: await isTrusting() };
    seen.removed = await agent.withdraw(first);
    seen.afterwards = await isTrusting();

    seen.failed = await agent.pass(item({ reloadCommand: ["false"] }));
    seen.afterFailure = await isTrusting();

    const second = item();
    await agent.pass(second);
    const release = await lockDpkg();
    seen.busy = await agent.withdraw(second);
    seen.whileBusy = await isTrusting();
    await release();
    await keytool(MACHINE, "-importcert", ["-noprompt", "-alias", "mine"], parties.authority.root.pem);
    seen.kept = await agent.withdraw(second);
    seen.whileKept = await isTrusting();
    await keytool(MACHINE, "-delete", ["-alias", "mine"]);
    seen.atLast = await isTrusting();

    const third = item();
    await agent.pass(third);
    const [, alias = ""] = /^Alias name: (debian:(?:corp|certitude).*)$/m.exec(await keytool(MACHINE, "-list", ["-rfc"])) ?? [];
    await keytool(MACHINE, "-delete", ["-alias", alias]);
    seen.healed = await agent.pass(third);
    seen.afterHealing = await isTrusting();
    await agent.withdraw(third);
    return seen;
  }

  const system = await conduct("linux_update_ca_certificates", {});
  const cacerts = await conduct("java_cacerts", { preferOsStore: true });
  console.info(JSON.stringify({ system, cacerts, fingerprint: parties.authority.root.fingerprint, left: await isTrusting() }));
  await parties.end();
  java.remove();
  agent.remove();
}
