import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import { desired, newAgentHost, withScratchSystem } from "../../support/agent/agent-host";
import { installed } from "../../support/agent/program-stores";
import { keytool } from "../../support/pki/java";
import { keystoreOf, newHost, newKeystores } from "../../support/pki/keystores";

setDefaultTimeout(300_000);

const { authority, known, server, knownServer, java, isTrusting, putKnown, end } = await newKeystores();
afterAll(end);

describe("java_cacerts, where it is", () => {
  const withoutPlace = (more: Desired["config"] = {}) =>
    desired(authority.root, { trustStoreType: "java_cacerts", config: { alias: "corp", storePasswordRef: "env:STORE_PASSWORD", ...more } });

  test("by default in JAVA_HOME, where a distribution may have put a link; other links are not followed", async () => {
    const agent = await newHost();
    putKnown(agent, "java_cacerts");
    const home = agent.pathOf("jdk");
    for (const each of ["bin", "lib/security"]) mkdirSync(join(home, each), { recursive: true });
    symlinkSync(Bun.which("keytool") ?? "", join(home, "bin/keytool"));
    symlinkSync(keystoreOf(agent).path, join(home, "lib/security/cacerts"));
    agent.host.environment.JAVA_HOME = home;
    const item = withoutPlace();
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await isTrusting(agent)).toBe(true);
    expect(await agent.pass(withoutPlace({ trustStorePath: join(home, "lib/security/cacerts") }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("is a symbolic link"),
    });
    agent.remove();
  });

  test("by default this machine's, with the password that Java ships", async () => {
    const agent = await newHost();
    const machine = { path: "/etc/ssl/certs/java/cacerts", password: "changeit" };
    const before = readFileSync(machine.path);
    const alias = `certitude-test-${crypto.randomUUID()}`;
    const item = desired(authority.root, { trustStoreType: "java_cacerts", config: { alias } });
    try {
      expect(await java.trusts(server.url, machine)).toBe(false);
      expect(await agent.pass(item)).toEqual(installed(item));
      expect(await java.trusts(server.url, machine)).toBe(true);
      expect(await agent.withdraw(item)).toEqual({ state: "removed" });
      expect(await java.trusts(server.url, machine)).toBe(false);
    } finally {
      writeFileSync(machine.path, before);
    }
    agent.remove();
  });

  test("where newer JDKs give it no password, it gets none", async () => {
    const agent = await newHost();
    mkdirSync(agent.pathOf("app"));
    const open = { ...keystoreOf(agent), password: "" };
    const plain = ["certProtectionAlgorithm", "macAlgorithm"].map((each) => `-J-Dkeystore.pkcs12.${each}=NONE`);
    await keytool({ ...open, password: "changeit" }, "-importcert", [...plain, "-noprompt", "-alias", "known"], known.root.pem);
    const item = desired(authority.root, { trustStoreType: "java_cacerts", config: { alias: "corp", trustStorePath: open.path } });
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await java.trusts(server.url, open)).toBe(true);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await java.trusts(server.url, open)).toBe(false);
    expect(await java.trusts(knownServer.url, open)).toBe(true);
    agent.remove();
  });

  test("failed: preferOsStore, where no hook of the system's tool fills what Java reads", async () => {
    const agent = await newAgentHost(withScratchSystem);
    const item = withoutPlace({ preferOsStore: true, storePasswordRef: "env:STORE_PASSWORD", trustStorePath: agent.pathOf("app/trust.store") });
    agent.host.environment.STORE_PASSWORD = keystoreOf(agent).password;
    putKnown(agent, "java_cacerts");
    const before = agent.files();
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringMatching(/trust.store lacks it: no hook in .* has put it there/) });
    expect(agent.files().filter((each) => !each.startsWith("certs/"))).toEqual(before.filter((each) => !each.startsWith("certs/")));
    agent.remove();
  });
});
