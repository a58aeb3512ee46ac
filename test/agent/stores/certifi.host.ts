import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import { desired } from "../../support/agent/agent-host";
import { newKnowingHost, newParties, type Parties, testBehaviour } from "../../support/agent/store-behaviour";
import { contentOf, newVirtualEnvironment, requestsTrusts, runs } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-venv-"));
const pythonVenvPath = join(directory, "venv");
let parties: Parties;
let venv: Awaited<ReturnType<typeof newVirtualEnvironment>>;
beforeAll(async () => {
  [parties, venv] = await Promise.all([newParties(), newVirtualEnvironment(pythonVenvPath)]);
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await parties.end();
});

const anchor = (config: Desired["config"] = { pythonVenvPath }) => desired(parties.authority.root, { trustStoreType: "python_certifi", config });
const pythonTrusts = (url: string) => requestsTrusts(url, {}, venv.python);
function copyEnvironment(path: string) {
  cpSync(pythonVenvPath, path, { recursive: true, verbatimSymlinks: true });
  return { python: join(path, "bin/python"), packages: venv.packages.replace(pythonVenvPath, path) };
}

describe("python_certifi", () => {
  testBehaviour("a virtual environment", () => parties, {
    storeType: "python_certifi",
    config: () => ({ pythonVenvPath }),
    prepare: () => venv.installCertifi(),
    isTrusting: (_agent, url) => pythonTrusts(url),
    keepsRoots: false,
    spoil: () => [],
    elsewhere: ({ pathOf }) => ({ trustStorePath: pathOf("cacert.pem") }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("cacert.pem")) && !readFileSync(venv.bundle, "utf8").includes("certitude"),
  });

  test("installed beside Mozilla's roots and removed to the byte; an upgrade of certifi is drift", async () => {
    const agent = await newKnowingHost(parties);
    const before = readFileSync(venv.bundle);
    const item = anchor();
    await agent.pass(item);
    expect(readFileSync(venv.bundle).subarray(0, before.length)).toEqual(before);
    for (const spoil of [() => venv.installCertifi(), () => rmSync(venv.bundle), () => writeFileSync(venv.bundle, before.subarray(0, -1))]) {
      spoil();
      expect(await pythonTrusts(parties.server.url).catch(() => false)).toBe(false);
      expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining(`${venv.bundle} lacks the certificate`) });
      expect(await pythonTrusts(parties.server.url)).toBe(true);
    }
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(readFileSync(venv.bundle)).toEqual(before.subarray(0, -1));
    venv.installCertifi();
    agent.remove();
  });

  test("Debian's certifi leads to the system's store, where the anchor goes", async () => {
    const agent = await newKnowingHost(parties);
    const path = agent.pathOf("venv");
    const { python, packages } = copyEnvironment(path);
    const debians = "/usr/lib/python3/dist-packages/certifi";
    rmSync(join(packages, "certifi"), { recursive: true });
    cpSync(debians, join(packages, "certifi"), { recursive: true });
    const core = readFileSync(join(debians, "core.py"), "utf8");
    writeFileSync(join(packages, "certifi/core.py"), core.replaceAll("/etc/ssl/certs/ca-certificates.crt", agent.host.system.bundle));
    expect((await runs([python, "-m", "certifi"])).stdout.trim()).toBe(agent.host.system.bundle);
    const isTrusting = (url: string) => requestsTrusts(url, {}, python);
    expect(await isTrusting(parties.server.url)).toBe(false);
    const item = anchor({ pythonVenvPath: path });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await isTrusting(parties.server.url)).toBe(true);
    expect(await isTrusting(parties.knownServer.url)).toBe(true);
    expect(readFileSync(agent.host.system.bundle, "utf8")).not.toContain("certitude");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await isTrusting(parties.server.url)).toBe(false);
    agent.remove();
  });

  test("preferOsStore needs the truststore package, and then uses the system's store", async () => {
    const agent = await newKnowingHost(parties);
    const before = contentOf(agent);
    const item = anchor({ pythonVenvPath, preferOsStore: true });
    expect(await agent.pass(item)).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/config.preferOsStore needs Python's truststore package.*No module named 'truststore'/),
    });
    expect(contentOf(agent)).toEqual(before);
    writeFileSync(join(venv.packages, "truststore.py"), "");
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(readFileSync(agent.host.system.bundle, "utf8")).toContain(parties.authority.root.pem.trim());
    rmSync(join(venv.packages, "truststore.py"));
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("failed: no python, no certifi, a virtual environment that is not there", async () => {
    const agent = await newKnowingHost(parties);
    const before = contentOf(agent);
    const bare = { ...agent.host, environment: { PATH: agent.pathOf("nothing") } };
    expect(await agent.pass(anchor({}), { host: bare })).toMatchObject({
      state: "failed",
      message: expect.stringContaining("python3 is not installed on this host"),
    });
    const missing = agent.pathOf("venv");
    expect(await agent.pass(anchor({ pythonVenvPath: missing }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining(`${missing} does not exist`),
    });
    await Bun.$`/usr/bin/python3 -m venv --without-pip ${missing}`.quiet();
    expect(await agent.pass(anchor({ pythonVenvPath: missing }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("No module named certifi"),
    });
    rmSync(missing, { recursive: true });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("removed: a virtual environment that went away took the certificate with it", async () => {
    const agent = await newKnowingHost(parties);
    const path = agent.pathOf("venv");
    copyEnvironment(path);
    const item = anchor({ pythonVenvPath: path });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    rmSync(path, { recursive: true });
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    agent.remove();
  });

  test("a virtual environment of another user runs as that user, and leads root to no file of root's", async () => {
    const agent = await newKnowingHost(parties);
    chmodSync(agent.directory, 0o755);
    const path = agent.pathOf("venv");
    const python = join(path, "bin/python");
    mkdirSync(join(path, "bin"), { recursive: true });
    const roots = agent.pathOf("roots.pem");
    writeFileSync(roots, parties.known.root.pem);
    writeFileSync(python, `#!/bin/sh\nid -u > ${path}/user\necho ${roots}\n`, { mode: 0o755 });
    for (const each of [path, join(path, "bin"), python]) chownSync(each, 65534, 65534);
    const item = anchor({ pythonVenvPath: path });
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("belongs to another user") });
    expect(readFileSync(join(path, "user"), "utf8")).toBe("65534\n");
    expect(readFileSync(roots, "utf8")).toBe(parties.known.root.pem);
    chownSync(roots, 65534, 65534);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    agent.remove();
  });
});
