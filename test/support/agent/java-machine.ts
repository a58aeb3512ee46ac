import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import { newAuthority } from "../pki/authority";
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

/** Leaves the package of Java's hook as dpkg does when it is killed or fails in the middle of the hook's work. */
async function interruptHook(directory: string) {
  const broken = join(directory, "broken");
  mkdirSync(broken, { recursive: true });
  writeFileSync(join(broken, "java"), "#!/bin/sh\nexit 1\n");
  chmodSync(join(broken, "java"), 0o755);
  const env = { ...Bun.env, PATH: `${broken}:${Bun.env.PATH}` };
  const child = Bun.spawn(["/etc/ca-certificates/update.d/jks-keystore"], { env, stdin: Buffer.from("+/nowhere.pem\n"), stdout: "ignore", stderr: "ignore" });
  if ((await child.exited) === 0) throw new Error("the hook was not interrupted");
}

/**
 * Notes each run of update-ca-certificates, for an agent whose PATH begins with `path`, and how many lines a hook beside Java's
 * is told.
 */
function countRuns(directory: string) {
  const [path, runs] = [join(directory, "bin"), join(directory, "runs")];
  mkdirSync(path);
  const write = (file: string, line: string) => {
    writeFileSync(file, `#!/bin/sh\n${line}\n`);
    chmodSync(file, 0o755);
  };
  write(join(path, "update-ca-certificates"), `echo update >>${runs}\nexec /usr/sbin/update-ca-certificates "$@"`);
  write("/etc/ca-certificates/update.d/count", `echo "gone $(grep -c ^- || true)" >>${runs}`);
  function take() {
    const names = readFileSync(runs, "utf8").split("\n").filter(Boolean);
    rmSync(runs);
    return names;
  }
  return { path, take };
}

/**
 * Runs Java's view of a server while the agent installs its authority's root in the system's store, heals it and removes it; on
 * a machine of its own.
 */
export const watchJava = () => runOnPrivateMachine(import.meta.path);

if (import.meta.main) {
  const [agent, parties, java] = await Promise.all([newAgentHost(), newParties(), newJava()]);
  const isTrusting = () => java.trusts(parties.server.url, MACHINE);

  async function conduct(trustStoreType: "linux_update_ca_certificates" | "java_cacerts", more: Desired["config"]) {
    const item = (config: Desired["config"] = {}) => desired(parties.authority.root, { trustStoreType, config: { alias: "corp", ...more, ...config } });
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

    const fourth = item();
    if (trustStoreType === "java_cacerts") await interruptHook(agent.directory);
    seen.installedLate = await agent.pass(fourth);
    seen.trustedLate = await isTrusting();
    await interruptHook(agent.directory);
    seen.removedLate = await agent.withdraw(fourth);
    seen.afterLate = await isTrusting();
    return seen;
  }

  /** Four anchors that come together and go together, and how often which tool of the machine ran for it. */
  async function conductMany() {
    const authorities = await Promise.all([newAuthority(), newAuthority(), newAuthority()]);
    const roots = [parties.authority.root, ...authorities.map(({ root }) => root)];
    const items = roots.map((root, index) => desired(root, { trustStoreType: "linux_update_ca_certificates", config: { alias: `many-${index}` } }));
    const count = countRuns(agent.directory);
    agent.host.environment.PATH = `${count.path}:${agent.host.environment.PATH}`;
    const installed = await agent.passAll(items);
    const seen: Record<string, unknown> = { installed, runs: count.take(), trusted: await isTrusting() };
    seen.removed = await agent.passAll([], items);
    seen.runsOfRemoval = count.take();
    seen.afterwards = await isTrusting();
    seen.left = (await keytool(MACHINE, "-list", ["-rfc"])).split("\n").filter((line) => line.includes("debian:many"));
    for (const each of authorities) each.remove();
    return seen;
  }

  const system = await conduct("linux_update_ca_certificates", {});
  const cacerts = await conduct("java_cacerts", { preferOsStore: true });
  const many = await conductMany();
  console.info(JSON.stringify({ system, cacerts, many, fingerprint: parties.authority.root.fingerprint, left: await isTrusting() }));
  await parties.end();
  java.remove();
  agent.remove();
}
