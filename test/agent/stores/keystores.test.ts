import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Desired } from "../../../src/agent/exchange";
import { presented } from "../../../src/agent/pem";
import { desired, desiredServer, newAgentHost, withScratchSystem } from "../../support/agent-host";
import { newAuthority, serveTls } from "../../support/authority";
import { type AgentHost, contentOf } from "../../support/consumers";
import { keytool, newJava } from "../../support/java";
import { presentedAt } from "../../support/tls-servers";

setDefaultTimeout(120_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let known: Awaited<ReturnType<typeof newAuthority>>;
let server: Awaited<ReturnType<typeof serveTls>>;
let knownServer: Awaited<ReturnType<typeof serveTls>>;
let java: Awaited<ReturnType<typeof newJava>>;
beforeAll(async () => {
  [authority, known, java] = await Promise.all([newAuthority(), newAuthority(), newJava()]);
  [server, knownServer] = await Promise.all([authority.issueServer("good.test").then(serveTls), known.issueServer("known.test").then(serveTls)]);
});
afterAll(async () => {
  await Promise.all([server.stop(), knownServer.stop()]);
  for (const each of [authority, known, java]) each.remove();
});

const PASSWORD = "not the shipped one";
type Type = "java_cacerts" | "java_keystore_jks" | "java_keystore_pkcs12";
const TYPES: Type[] = ["java_cacerts", "java_keystore_jks", "java_keystore_pkcs12"];
const KEY_TYPES: Type[] = ["java_keystore_jks", "java_keystore_pkcs12"];
const FORMATS = { java_cacerts: "JKS", java_keystore_jks: "JKS", java_keystore_pkcs12: "PKCS12" };

/** The agent's variables, with a place of their own for its temporary files. */
const newHost = (directory?: string) =>
  newAgentHost((host, place) => {
    mkdirSync(join(place, "tmp"), { recursive: true });
    return { ...host, environment: { ...host.environment, TMPDIR: join(place, "tmp"), STORE_PASSWORD: PASSWORD, SHORT: "short" } };
  }, directory);

const keystoreOf = (agent: AgentHost, name = "app/trust.store") => ({ path: agent.pathOf(name), password: PASSWORD });
const configOf = (agent: AgentHost, more: Desired["config"] = {}) => ({
  trustStorePath: agent.pathOf("app/trust.store"),
  storePasswordRef: "env:STORE_PASSWORD",
  alias: "corp",
  ...more,
});
const anchor = (agent: AgentHost, trustStoreType: Type, more: Desired["config"] = {}) =>
  desired(authority.root, { trustStoreType, config: configOf(agent, more) });
const installed = ({ fingerprintSha256 }: Desired) => ({ state: "installed" as const, observedFingerprint: fingerprintSha256 });
const isTrusting = (agent: AgentHost, url = server.url) => java.trusts(url, keystoreOf(agent));
const without = (tool: AgentHost) => ({ host: { ...tool.host, environment: { ...tool.host.environment, PATH: "/nonexistent" } } });

/** Keystores of somebody else's, who trusts the known authority; in one of them a second time, under the alias that the agent uses. */
let templates: string;
beforeAll(async () => {
  templates = mkdtempSync(join(tmpdir(), "certitude-keystores-"));
  for (const format of ["JKS", "PKCS12"]) {
    const keystore = { path: join(templates, format), password: PASSWORD };
    await keytool(keystore, "-importcert", ["-noprompt", "-alias", "known", "-storetype", format], known.root.pem);
    copyFileSync(keystore.path, `${keystore.path}-corp`);
    await keytool({ ...keystore, path: `${keystore.path}-corp` }, "-importcert", ["-noprompt", "-alias", "corp"], known.intermediate.pem);
  }
});
afterAll(() => rmSync(templates, { recursive: true }));

function putKnown(agent: AgentHost, type: Type, more: "" | "-corp" = "") {
  mkdirSync(agent.pathOf("app"), { recursive: true });
  copyFileSync(join(templates, FORMATS[type] + more), keystoreOf(agent).path);
  chmodSync(keystoreOf(agent).path, 0o640);
}
const importAs = (agent: AgentHost, alias: string, pem: string) => keytool(keystoreOf(agent), "-importcert", ["-noprompt", "-alias", alias], pem);
const deleteFrom = (agent: AgentHost, alias: string) => keytool(keystoreOf(agent), "-delete", ["-alias", alias]);
const aliasesIn = async (agent: AgentHost) =>
  [...(await keytool(keystoreOf(agent), "-list", ["-rfc"])).matchAll(/^Alias name: (.+)$/gm)].map(([, alias]) => alias).toSorted();

describe.each(TYPES)("%s, a trust store", (type) => {
  test("Java refuses, trusts once it is installed, and refuses again; nothing is done twice, and what others trust stays", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = anchor(agent, type);
    expect(await isTrusting(agent)).toBe(false);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await isTrusting(agent)).toBe(true);
    expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o640);
    const after = contentOf(agent);
    expect(await agent.pass(item, without(agent))).toEqual(installed(item)); // and needs no Java for that
    expect(contentOf(agent)).toEqual(after);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await isTrusting(agent)).toBe(false);
    expect(await aliasesIn(agent)).toEqual(["known"]);
    expect(readdirSync(agent.pathOf("tmp"))).toEqual([]);
    agent.remove();
  });

  test("one that is missing is made, and goes with the last entry that the agent has put there", async () => {
    const agent = await newHost();
    const item = anchor(agent, type);
    const second = desired(known.root, { trustStoreType: type, config: configOf(agent, { alias: "second" }) });
    const before = contentOf(agent);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await agent.pass(second)).toEqual(installed(second));
    expect(await isTrusting(agent)).toBe(true);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await isTrusting(agent)).toBe(false);
    expect(await isTrusting(agent, knownServer.url)).toBe(true);
    expect(await agent.withdraw(second)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    expect(readdirSync(agent.directory)).not.toContain("app");
    agent.remove();
  });

  test("drifted: removed, replaced, or all of the file lost or restored from before", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = anchor(agent, type);
    await agent.pass(item);
    const tamper = [() => deleteFrom(agent, "corp"), () => putKnown(agent, type, "-corp"), () => putKnown(agent, type), () => rmSync(keystoreOf(agent).path)];
    for (const each of tamper) {
      await each();
      expect(await agent.pass(item)).toMatchObject({
        ...installed(item),
        state: "drifted",
        message: expect.stringMatching(/Found and healed: corp in .* is /),
      });
    }
    expect(await isTrusting(agent)).toBe(true);
    expect(await agent.pass(item)).toEqual(installed(item));
    agent.remove();
  });

  test("failed, and as it was to the byte: a reload that fails, a server that it does not make trusted", async () => {
    const agent = await newHost();
    const failing = [{ reloadCommand: ["false"] }, { verifyEndpoint: knownServer.url, verifyServerName: "known.test" }];
    for (const prepare of [() => {}, () => putKnown(agent, type)]) {
      prepare();
      const before = contentOf(agent);
      for (const more of failing) {
        expect(await agent.pass(anchor(agent, type, more))).toMatchObject({
          state: "failed",
          message: expect.stringMatching(/Rolled back: the store is as it was/),
        });
        expect(contentOf(agent)).toEqual(before);
      }
    }
    const item = anchor(agent, type, { verifyEndpoint: server.url, verifyServerName: "good.test", reloadCommand: ["true"] });
    expect(await agent.pass(item)).toEqual(installed(item));
    agent.remove();
  });

  test("a foreign entry of the name stays: another certificate is refused, the same one is left there on removal", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const before = contentOf(agent);
    expect(await agent.pass(anchor(agent, type, { alias: "Known" }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("has an entry Known already, and not by this agent"),
    });
    expect(contentOf(agent)).toEqual(before);
    const same = desired(known.root, { trustStoreType: type, config: configOf(agent, { alias: "Known" }) });
    expect(await agent.pass(same)).toEqual(installed(same));
    expect(await agent.withdraw(same)).toMatchObject({ state: "removed", message: expect.stringContaining("left it there") });
    expect(contentOf(agent)).toEqual(before);
    const item = anchor(agent, type);
    await agent.pass(item);
    putKnown(agent, type, "-corp");
    const replaced = contentOf(agent);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(replaced);
    agent.remove();
  });

  test("another alias, or another file, takes the place of the first", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = anchor(agent, type);
    await agent.pass(item);
    const renamed = { ...item, version: 2, config: { ...item.config, alias: "Renamed" } };
    expect(await agent.pass(renamed)).toEqual(installed(item));
    expect(await aliasesIn(agent)).toEqual(["known", "renamed"]);
    const moved = { ...renamed, version: 3, config: { ...item.config, trustStorePath: agent.pathOf("elsewhere/trust.store") } };
    expect(await agent.pass(moved)).toEqual(installed(item));
    expect(await isTrusting(agent)).toBe(false);
    expect(await java.trusts(server.url, keystoreOf(agent, "elsewhere/trust.store"))).toBe(true);
    agent.remove();
  });
});

describe("failed with a sentence that helps, and as it was", () => {
  const type = "java_keystore_pkcs12";
  const failures: [string, (agent: AgentHost) => Desired["config"], string][] = [
    ["an unset variable", () => ({ storePasswordRef: "env:NOBODY_SET_IT" }), "names the environment variable NOBODY_SET_IT, which is not set"],
    ["a missing password file", () => ({ storePasswordRef: "file:/nonexistent/password" }), "names cannot be read"],
    ["a vault", () => ({ storePasswordRef: "vault:secret/store#password" }), "cannot ask a vault"],
    ["a file that is no keystore", ({ pathOf }) => ({ trustStorePath: pathOf("notes") }), "keytool cannot use"],
    ["a directory in its place", ({ pathOf }) => ({ trustStorePath: pathOf("app") }), "is not a plain file"],
    ["a planted link", ({ pathOf }) => ({ trustStorePath: pathOf("link") }), "is a symbolic link"],
    ["a place where nothing can be made", () => ({ trustStorePath: "/proc/nowhere/trust.store" }), "/proc/nowhere cannot be made"],
    ["a password too short", ({ pathOf }) => ({ trustStorePath: pathOf("new"), storePasswordRef: "env:SHORT" }), "password must be at least 6 characters."],
    ["a path that is not absolute", () => ({ trustStorePath: "trust.store" }), "config.trustStorePath must be an absolute path"],
  ];

  test.each(failures)("%s", async (_, configOfIt, words) => {
    const agent = await newHost();
    putKnown(agent, type);
    writeFileSync(agent.pathOf("notes"), "notes");
    symlinkSync(keystoreOf(agent).path, agent.pathOf("link"));
    const before = contentOf(agent);
    expect(await agent.pass(anchor(agent, type, configOfIt(agent)))).toMatchObject({ state: "failed", message: expect.stringContaining(words) });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test.each(TYPES)("a wrong password of %s, which is not told", async (each) => {
    const agent = await newHost();
    putKnown(agent, each);
    const before = contentOf(agent);
    writeFileSync(agent.pathOf("tmp/password"), "wrong-one\n");
    const result = await agent.pass(anchor(agent, each, { storePasswordRef: `file:${agent.pathOf("tmp/password")}` }));
    expect(result?.message).toBe(`The password does not open ${keystoreOf(agent).path}. Correct what config.storePasswordRef leads to.`);
    rmSync(agent.pathOf("tmp/password"));
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("a missing keytool", async () => {
    const agent = await newHost();
    expect(await agent.pass(anchor(agent, type), without(agent))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("keytool is not installed on this host, or not on the agent's PATH"),
    });
    expect(agent.files()).toEqual([]);
    agent.remove();
  });
});

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

  test("with preferOsStore in the system's store, from which a distribution makes Java's", async () => {
    const agent = await newAgentHost(withScratchSystem);
    const item = withoutPlace({ preferOsStore: true });
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(readFileSync(agent.host.system.bundle, "utf8")).toContain(authority.root.pem.trim());
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(agent.files().filter((each) => each.startsWith("anchors"))).toEqual([]);
    agent.remove();
  });
});

describe.each(KEY_TYPES)("%s, a key store", (type) => {
  const keyed = (agent: AgentHost, issued: Awaited<ReturnType<typeof authority.issueServer>>, more: Desired["config"] = {}) =>
    desiredServer(issued, { trustStoreType: type, config: configOf(agent, more) });
  const chainAt = async (agent: AgentHost) => {
    const peer = await java.serve(keystoreOf(agent));
    const chain = await presentedAt(peer.port);
    await peer.stop();
    return chain;
  };

  test("a server in Java presents the chain, then that of the next certificate; the file is closed to others", async () => {
    const agent = await newHost();
    const [leaf, next] = await Promise.all([authority.issueServer("java.test"), authority.issueServer("java.test")]);
    const item = keyed(agent, leaf);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o600);
    expect(await chainAt(agent)).toEqual([leaf.fingerprint, authority.intermediate.fingerprint]);
    const after = contentOf(agent);
    expect(await agent.pass(item, without(agent))).toEqual(installed(item));
    expect(contentOf(agent)).toEqual(after);
    const rotated = { ...keyed(agent, next), id: item.id, version: 2 };
    expect(await agent.pass(rotated)).toEqual(installed(rotated));
    expect(await chainAt(agent)).toEqual([next.fingerprint, authority.intermediate.fingerprint]);
    expect(await agent.withdraw(rotated)).toEqual({ state: "removed" });
    expect(agent.files()).toEqual([]);
    expect(readdirSync(agent.pathOf("tmp"))).toEqual([]);
    agent.remove();
  });

  test("a client in Java is accepted by a server that asks for its certificate", async () => {
    const agent = await newHost();
    const [leaf, asked] = await Promise.all([authority.issueServer("client.test"), authority.issueServer("asking.test")]);
    const asking = await serveTls(asked, authority.root.pem);
    const trust = desired(authority.root, { trustStoreType: type, config: configOf(agent, { trustStorePath: agent.pathOf("app/anchors.store") }) });
    await agent.pass(trust);
    const item = { ...keyed(agent, leaf), materialType: "client_certificate" as const };
    const trustStore = keystoreOf(agent, "app/anchors.store");
    expect(await java.trusts(asking.url, trustStore)).toBe(false);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await java.trusts(asking.url, trustStore, keystoreOf(agent))).toBe(true);
    await asking.stop();
    agent.remove();
  });

  test("drifted: another key under the alias, its certificate without the key, another mode", async () => {
    const agent = await newHost();
    const [leaf, other] = await Promise.all([authority.issueServer("java.test"), known.issueServer("java.test")]);
    const item = keyed(agent, leaf, { keyPermissionMode: "0640" });
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o640);
    const tamper = [
      () => chmodSync(keystoreOf(agent).path, 0o644),
      async () => {
        await deleteFrom(agent, "corp");
        await keytool(keystoreOf(agent), "-genkeypair", ["-alias", "corp", "-keyalg", "EC", "-dname", "CN=other"]);
      },
      async () => {
        await deleteFrom(agent, "corp");
        await importAs(agent, "corp", leaf.pem);
      },
    ];
    for (const each of tamper) {
      await each();
      expect(await agent.pass(item)).toMatchObject({ ...installed(item), state: "drifted" });
      expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o640);
    }
    expect(await chainAt(agent)).toEqual([leaf.fingerprint, authority.intermediate.fingerprint]);
    const failing = { ...keyed(agent, other, { keyPermissionMode: "0600", reloadCommand: ["false"] }), id: item.id, version: 2 };
    const before = contentOf(agent);
    expect(await agent.pass(failing)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back") });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("the root in the same file, and a key of somebody else's, disturb nothing", async () => {
    const agent = await newHost();
    const leaf = await authority.issueServer("java.test");
    mkdirSync(agent.pathOf("app"));
    await keytool(keystoreOf(agent), "-genkeypair", ["-alias", "own", "-keyalg", "EC", "-dname", "CN=own", "-storetype", FORMATS[type]]);
    await importAs(agent, "root", authority.root.pem);
    const item = keyed(agent, leaf);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await keytool(keystoreOf(agent), "-list", ["-rfc", "-alias", "corp"])).toContain(presented(leaf.pem, leaf.chain)[1]?.split("\n")[1] ?? "");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await aliasesIn(agent)).toEqual(["own", "root"]);
    agent.remove();
  });

  test("killed while keytool reads the key: the next run takes it back, leaves no key behind, and ends as desired", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = keyed(agent, await authority.issueServer("java.test"));
    mkdirSync(agent.pathOf("bin"));
    writeFileSync(agent.pathOf("bin/keytool"), `#!/bin/sh\ncase "$*" in *-importkeystore*) kill -9 $PPID;; *) exec ${Bun.which("keytool")} "$@";; esac\n`);
    chmodSync(agent.pathOf("bin/keytool"), 0o755);
    agent.memory.close();
    const pass = `
      import { newAgentHost } from ${JSON.stringify(join(import.meta.dir, "../../support/agent-host.ts"))};
      const [directory, environment, item] = process.argv.slice(1).map((each, index) => (index === 0 ? each : JSON.parse(each)));
      const agent = await newAgentHost((host) => ({ ...host, environment }), directory);
      await agent.pass(item);`;
    const environment = { ...agent.host.environment, PATH: `${agent.pathOf("bin")}:${Bun.env.PATH}` };
    const child = Bun.spawn([process.execPath, "-e", pass, agent.directory, JSON.stringify(environment), JSON.stringify(item)], { stderr: "inherit" });
    expect(await child.exited).not.toBe(0);
    expect(child.signalCode).toBe("SIGKILL");
    const left = readdirSync(agent.pathOf("tmp"), { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    expect(left.length).toBeGreaterThan(0);
    for (const each of left) expect(readFileSync(join(each.parentPath, each.name), "latin1")).not.toContain("PRIVATE KEY");
    const again = await newHost(agent.directory);
    expect(await again.pass(item)).toEqual(installed(item));
    expect(readdirSync(agent.pathOf("tmp"))).toEqual([]);
    expect(await aliasesIn(agent)).toEqual(["corp", "known"]);
    again.remove();
  });
});
