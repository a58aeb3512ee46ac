import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chownSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { certificatesIn } from "#agent/host/pem";
import type { Desired } from "#agent/server-client";
import { desired } from "../../support/agent/agent-host";
import { newKnowingHost, newParties, type Parties, put, testBehaviour } from "../../support/agent/store-behaviour";
import { type AgentHost, contentOf, requestsTrusts, urllibTrusts, variablesIn } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

const envFileOf = ({ pathOf }: AgentHost) => pathOf("etc/environment");
const anchor = (agent: AgentHost, config: Desired["config"] = {}) =>
  desired(parties.authority.root, { trustStoreType: "ssl_cert_file_env", config: { envFilePath: envFileOf(agent), ...config } });
const installed = () => ({ state: "installed" as const, observedFingerprint: parties.authority.root.fingerprint });

describe("ssl_cert_file_env", () => {
  testBehaviour("SSL_CERT_FILE", () => parties, {
    storeType: "ssl_cert_file_env",
    config: ({ pathOf }) => ({ envFilePath: pathOf("etc/environment") }),
    prepare: ({ pathOf }) => put(pathOf("etc/environment"), "LANG=C.UTF-8\n# no end of line"),
    isTrusting: async ({ pathOf }, url) => urllibTrusts(url, await variablesIn(pathOf("etc/environment"))),
    keepsRoots: true,
    spoil: ({ pathOf }) => [pathOf("etc/environment"), pathOf("etc/environment.ssl_cert_file_env.pem")],
    elsewhere: ({ pathOf }) => ({ envFilePath: pathOf("etc/environment"), trustStorePath: pathOf("a place/bundle.pem") }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("a place/bundle.pem")) && !existsSync(pathOf("etc/environment.ssl_cert_file_env.pem")),
  });

  testBehaviour("the system's store", () => parties, {
    storeType: "ssl_cert_file_env",
    config: (agent) => ({ envFilePath: envFileOf(agent), preferOsStore: true }),
    isTrusting: async (agent, url) => urllibTrusts(url, await variablesIn(envFileOf(agent))),
    keepsRoots: true,
    spoil: (agent) => [envFileOf(agent)],
    elsewhere: (agent) => ({ envFilePath: envFileOf(agent) }),
    isElsewhere: ({ files }) => !files().some((name) => /^anchors\/certitude/.test(name)),
  });

  test("drifted: a variable that was replaced, in the agent's place or after it, is put back as a setting is", async () => {
    const agent = await newKnowingHost(parties);
    const item = anchor(agent);
    await agent.pass(item);
    const other = "SSL_CERT_FILE=/etc/other.pem\n";
    for (const text of [`LANG=C\n${other}`, readFileSync(envFileOf(agent), "utf8") + other]) {
      writeFileSync(envFileOf(agent), text);
      expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("does not set SSL_CERT_FILE") });
      expect(await urllibTrusts(parties.server.url, await variablesIn(envFileOf(agent)))).toBe(true);
      expect(await agent.pass(item)).toEqual(installed());
    }
    agent.remove();
  });

  test("assignments with one file share the bundle and the setting, which go with the last", async () => {
    const agent = await newKnowingHost(parties);
    const items = [
      anchor(agent),
      anchor(agent),
      desired(parties.known.intermediate, { trustStoreType: "ssl_cert_file_env", materialType: "intermediate_ca", config: { envFilePath: envFileOf(agent) } }),
    ] as const;
    for (const each of items) expect(await agent.pass(each)).toMatchObject({ state: "installed" });
    for (const each of items) expect(await agent.pass(each)).toMatchObject({ state: "installed" });
    const bundle = `${envFileOf(agent)}.ssl_cert_file_env.pem`;
    expect(readFileSync(envFileOf(agent), "utf8").match(/SSL_CERT_FILE=/g)).toHaveLength(1);
    expect(certificatesIn(readFileSync(bundle, "utf8"))).toHaveLength(4);
    for (const [each, state] of [
      [items[0], "kept"], // by the second, which has the same certificate
      [items[1], "removed"],
    ] as const) {
      expect(await agent.withdraw(each)).toMatchObject({ state });
      expect((await variablesIn(envFileOf(agent))).SSL_CERT_FILE).toBe(bundle);
    }
    expect(await agent.pass(items[2])).toMatchObject({ state: "installed" });
    expect(await urllibTrusts(parties.server.url, await variablesIn(envFileOf(agent)))).toBe(false);
    expect(await agent.withdraw(items[2])).toEqual({ state: "removed" });
    expect(agent.files().filter((name) => name.startsWith("etc/"))).toEqual([]);
    agent.remove();
  });

  test("failed: another assignment's bundle and another's setting stay as they are", async () => {
    const agent = await newKnowingHost(parties);
    const first = anchor(agent);
    await agent.pass(first);
    const before = contentOf(agent);
    expect(await agent.pass(anchor(agent, { trustStorePath: agent.pathOf("etc/mine.pem") }))).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/sets SSL_CERT_FILE to .* for another assignment on this host/),
    });
    expect(contentOf(agent)).toEqual(before);
    await agent.withdraw(first);
    put(envFileOf(agent), "export SSL_CERT_FILE='/etc/my own.pem'\n");
    const foreign = contentOf(agent);
    expect(await agent.pass(anchor(agent))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("sets SSL_CERT_FILE to ‹/etc/my own.pem›, and not by this agent"),
    });
    expect(contentOf(agent)).toEqual(foreign);
    agent.remove();
  });

  test("a bundle that another's setting names gets the anchor alone, and stays with the setting", async () => {
    const agent = await newKnowingHost(parties);
    const trustStorePath = agent.pathOf("etc/mine.pem");
    put(envFileOf(agent), `SSL_CERT_FILE=${trustStorePath}\n`);
    put(trustStorePath, parties.authority.intermediate.pem);
    const before = contentOf(agent);
    const item = anchor(agent, { trustStorePath });
    expect(await agent.pass(item)).toEqual(installed());
    expect(certificatesIn(readFileSync(trustStorePath, "utf8"))).toHaveLength(2);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("a bundle that is the system's own means the system's store; a place that cannot be written is named", async () => {
    const agent = await newKnowingHost(parties);
    const { bundle } = agent.host.system;
    const item = anchor(agent, { trustStorePath: bundle });
    expect(await agent.pass(item)).toEqual(installed());
    expect((await variablesIn(envFileOf(agent))).SSL_CERT_FILE).toBe(bundle);
    expect(readFileSync(bundle, "utf8")).not.toContain("certitude");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    const before = contentOf(agent);
    const lost = anchor(agent, { trustStorePath: join(bundle, "bundle.pem") });
    expect(await agent.pass(lost)).toMatchObject({
      state: "failed",
      message: expect.stringContaining(`${join(bundle, "bundle.pem")} cannot be read: something on the way to it is not a directory`),
    });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("drifted: the bundle follows the public roots; without any it is refused", async () => {
    const agent = await newKnowingHost(parties);
    const item = anchor(agent);
    await agent.pass(item);
    writeFileSync(agent.host.system.bundle, parties.known.intermediate.pem + parties.known.root.pem);
    expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("holds other public roots than") });
    expect(certificatesIn(readFileSync(`${envFileOf(agent)}.ssl_cert_file_env.pem`, "utf8"))).toHaveLength(3);
    expect(await agent.pass(item)).toEqual(installed());
    const before = contentOf(agent);
    rmSync(agent.host.system.bundle);
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("holds no public roots") });
    expect(contentOf(agent)).toEqual(before);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    agent.remove();
  });

  test("healed: a setting that lost a marker, or whose value was changed; what others add stays", async () => {
    const agent = await newKnowingHost(parties);
    const item = anchor(agent);
    await agent.pass(item);
    const whole = readFileSync(envFileOf(agent), "utf8");
    for (const [from, to] of [
      [/# BEGIN .*\n/, ""],
      [/# END .*\n/, ""],
      [/^SSL.*/m, "SSL_CERT_FILE=/tmp/other.pem"],
      [/^SSL.*\n/m, ""],
    ] as const) {
      writeFileSync(envFileOf(agent), `${whole.replace(from, to)}LANG=C\n`);
      expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("does not set SSL_CERT_FILE") });
      expect(await urllibTrusts(parties.server.url, await variablesIn(envFileOf(agent)))).toBe(true);
      expect(await agent.pass(item)).toEqual(installed());
    }
    await agent.withdraw(item);
    expect(readFileSync(envFileOf(agent), "utf8")).toMatch(/^# Made by the Certitude agent.*\nLANG=C\n$/);
    agent.remove();
  });

  test("a bundle that another has come to name keeps the public roots", async () => {
    const agent = await newKnowingHost(parties);
    const item = anchor(agent);
    await agent.pass(item);
    const bundle = `${envFileOf(agent)}.ssl_cert_file_env.pem`;
    writeFileSync(envFileOf(agent), `SSL_CERT_FILE=${bundle}\n`);
    expect(await agent.pass(item)).toEqual(installed());
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    const variables = await variablesIn(envFileOf(agent));
    expect(await urllibTrusts(parties.knownServer.url, variables)).toBe(true);
    expect(await urllibTrusts(parties.server.url, variables)).toBe(false);
    agent.remove();
  });

  test("a drop-in of systemd; files keep their owner and mode; a language that it does not write is refused", async () => {
    const agent = await newKnowingHost(parties);
    const dropIn = agent.pathOf("system/my 100%.service.d/ca.conf");
    put(dropIn, '[Service]\nEnvironment="A=b c" SSL_CERT_DIR=/etc/ssl/certs\n');
    chownSync(dropIn, 65534, 65534);
    const before = contentOf(agent);
    const item = anchor(agent, { envFilePath: dropIn });
    expect(await agent.pass(item)).toEqual(installed());
    const written = `SSL_CERT_FILE=${dropIn}.ssl_cert_file_env.pem`.replace("100%", "100%%");
    expect(readFileSync(dropIn, "utf8")).toContain(`\n# BEGIN certitude SSL_CERT_FILE\n[Service]\nEnvironment="${written}"\n# END certitude SSL_CERT_FILE\n`);
    expect(statSync(dropIn).uid).toBe(65534);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    const fish = anchor(agent, { envFilePath: agent.pathOf("config.fish") });
    expect(await agent.pass(fish)).toMatchObject({
      state: "failed",
      message: expect.stringContaining("a script in a language that this agent does not write"),
    });
    agent.remove();
  });
});

describe("python_requests_ca_bundle", () => {
  testBehaviour("REQUESTS_CA_BUNDLE in a script", () => parties, {
    storeType: "python_requests_ca_bundle",
    config: ({ pathOf }) => ({ envFilePath: pathOf("venv/bin/activate"), certFileName: "ca.pem" }),
    prepare: ({ pathOf }) => put(pathOf("venv/bin/activate"), "# This file must be used with source\nVIRTUAL_ENV=/x\nexport VIRTUAL_ENV\n"),
    isTrusting: async ({ pathOf }, url) => requestsTrusts(url, await variablesIn(pathOf("venv/bin/activate"))),
    keepsRoots: true,
    spoil: ({ pathOf }) => [pathOf("venv/bin/activate"), pathOf("venv/bin/ca.pem")],
    elsewhere: ({ pathOf }) => ({ envFilePath: pathOf("venv/bin/activate"), certFileName: "other's.pem" }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("venv/bin/other's.pem")),
  });
});
