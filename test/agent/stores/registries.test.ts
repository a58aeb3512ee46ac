import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Desired } from "../../../src/agent/exchange";
import { presented } from "../../../src/agent/pem";
import type { TrustStoreType } from "../../../src/modules/trust-stores/catalogue";
import { desired, desiredServer, newAgentHost } from "../../support/agent-host";
import { type Issued, newAuthority } from "../../support/authority";
import { serveRegistry, skopeoGets, startContainerd } from "../../support/registry";
import { stateOf } from "../../support/server-conduct";

setDefaultTimeout(60_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let other: Awaited<ReturnType<typeof newAuthority>>;
let client: Issued;
let registry: Awaited<ReturnType<typeof serveRegistry>>;
let closedRegistry: Awaited<ReturnType<typeof serveRegistry>>;
let containerd: Awaited<ReturnType<typeof startContainerd>>;
beforeAll(async () => {
  [authority, other, containerd] = await Promise.all([newAuthority(), newAuthority(), startContainerd()]);
  const server = await authority.issueServer("registry.test");
  client = await other.issueServer("client.test");
  [registry, closedRegistry] = await Promise.all([serveRegistry(server), serveRegistry(server, other.root.pem)]);
});
afterAll(async () => {
  await Promise.all([registry.stop(), closedRegistry.stop(), containerd.stop()]);
  authority.remove();
  other.remove();
});

type Tool = { storeType: TrustStoreType; gets: (directory: string, port: number) => Promise<boolean> };
const TOOLS: Tool[] = [
  { storeType: "docker_certs_d", gets: skopeoGets },
  { storeType: "podman_certs_d", gets: skopeoGets },
  { storeType: "containerd_certs_d", gets: (directory, port) => containerd.containerdGets(dirname(directory), port) },
];

/** A host whose directory for the registry is not there yet. */
async function begin({ storeType, gets }: Tool) {
  const agent = await newAgentHost();
  const directory = agent.pathOf("certs.d/registry.test");
  const itemOf = (config: Desired["config"], rest: Partial<Desired> = {}) =>
    desired(authority.root, { trustStoreType: storeType, config: { trustStorePath: directory, ...config }, ...rest });
  const clientOf = (config: Desired["config"] = {}, rest: Partial<Desired> = {}) =>
    desiredServer(client, { trustStoreType: storeType, materialType: "client_certificate", config: { trustStorePath: directory, ...config }, ...rest });
  const put = (name: string, text: string) => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(`${directory}/${name}`, text);
  };
  const read = (name: string) => readFileSync(`${directory}/${name}`, "utf8");
  const isGotten = () => gets(directory, registry.port);
  const isGottenByClient = () => gets(directory, closedRegistry.port);
  return { agent, directory, itemOf, clientOf, put, read, isGotten, isGottenByClient };
}
const failed = (words: string | RegExp) => ({ state: "failed", message: expect.stringMatching(words) });

for (const tool of TOOLS)
  describe(tool.storeType, () => {
    test("failed: file names that container tools do not read, a client certificate without its key; nothing is left", async () => {
      const { agent, itemOf, clientOf } = await begin(tool);
      const before = agent.files();
      expect(await agent.pass(itemOf({ certFileName: "ca.pem" }))).toMatchObject(failed(/config.certFileName must end in .crt/));
      expect(await agent.pass(clientOf({ certFileName: "client.pem" }))).toMatchObject(failed(/config.certFileName must end in .cert/));
      expect(await agent.pass(clientOf({ certFileName: "a.cert", keyFileName: "b.key" }))).toMatchObject(failed(/config.keyFileName must be a.key/));
      const withoutKey = clientOf({}, { includePrivateKey: false, privateKeyPem: null });
      expect(await agent.pass(withoutKey)).toMatchObject(failed(/client.cert|client.key has no private key. Include the private key/));
      expect(agent.files()).toEqual(before);
      agent.remove();
    });

    test("failed: somebody else's file of that name stays, and its reader keeps trusting it", async () => {
      const { agent, itemOf, put, read, isGotten } = await begin(tool);
      put("corp.crt", authority.root.pem);
      put("other.crt", other.root.pem);
      const moved = itemOf({ alias: "other" });
      expect(await agent.pass(moved)).toMatchObject(failed(/other.crt is there already, and not by this agent/));
      expect(read("other.crt")).toBe(other.root.pem);
      expect(await isGotten()).toBe(true);
      expect(await agent.pass(itemOf({ alias: "more" }))).toMatchObject({ state: "installed" });
      expect(await isGotten()).toBe(true);
      agent.remove();
    });

    test("refused, installed and accepted, left alone, moved, removed with its directory and refused", async () => {
      const { agent, directory, itemOf, isGotten } = await begin(tool);
      mkdirSync(agent.pathOf("certs.d"));
      expect(await isGotten()).toBe(false);
      const item = itemOf({ alias: "corp" });
      expect(await agent.pass(item)).toMatchObject({ state: "installed", observedFingerprint: authority.root.fingerprint });
      expect(await isGotten()).toBe(true);
      const after = stateOf(directory);
      expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      expect(stateOf(directory)).toEqual(after);
      const { alias: _, ...config } = item.config;
      expect(await agent.pass({ ...item, version: 2, config: { ...config, certFileName: "named.crt" } })).toMatchObject({ state: "installed" });
      expect(readdirSync(directory)).toEqual(["named.crt"]);
      expect(await isGotten()).toBe(true);
      expect(await agent.withdraw(item)).toEqual({ state: "removed" });
      expect(readdirSync(agent.pathOf("certs.d"))).toEqual([]);
      expect(await isGotten()).toBe(false);
      agent.remove();
    });

    test("a client certificate beside the anchor; the directory goes with the last of them", async () => {
      const { agent, directory, itemOf, clientOf, read, isGottenByClient } = await begin(tool);
      const [anchor, own] = [itemOf({ alias: "corp" }), clientOf()];
      await agent.pass(anchor);
      expect(await isGottenByClient()).toBe(false);
      expect(await agent.pass(own)).toMatchObject({ state: "installed", observedFingerprint: client.fingerprint });
      expect(await isGottenByClient()).toBe(true);
      expect(read("client.cert")).toBe(presented(client.pem, client.chain).join(""));
      expect(stateOf(directory)["client.key"]).toStartWith("100600 ");
      expect(await agent.withdraw(anchor)).toEqual({ state: "removed" });
      expect(readdirSync(directory)).toEqual(["client.cert", "client.key"]);
      expect(await agent.withdraw(own)).toEqual({ state: "removed" });
      expect(existsSync(agent.pathOf("certs.d"))).toBe(false);
      agent.remove();
    });

    test("drifted and healed: what is gone, replaced or open to others", async () => {
      const { agent, directory, itemOf, clientOf, isGottenByClient } = await begin(tool);
      const items = [itemOf({ alias: "corp" }), clientOf()];
      for (const item of items) await agent.pass(item);
      const after = stateOf(directory);
      for (const spoil of [
        () => rmSync(`${directory}/corp.crt`),
        () => writeFileSync(`${directory}/corp.crt`, other.root.pem),
        () => rmSync(`${directory}/client.key`),
        () => chmodSync(`${directory}/client.key`, 0o644),
        () => rmSync(directory, { recursive: true }),
      ]) {
        spoil();
        const results = [];
        for (const item of items) results.push((await agent.pass(item))?.state);
        expect(results).toContain("drifted");
        expect(stateOf(directory)).toEqual(after);
        expect(await isGottenByClient()).toBe(true);
      }
      agent.remove();
    });

    test("failed and rolled back, the directory too: a reload that fails, a registry of another authority", async () => {
      const { agent, itemOf, isGotten } = await begin(tool);
      for (const config of [{ reloadCommand: ["false"] }, { verifyEndpoint: `https://127.0.0.1:${registry.port}`, verifyServerName: "wrong.test" }]) {
        expect(await agent.pass(itemOf({ alias: "corp", ...config }))).toMatchObject(failed(/Rolled back: the store is as it was/));
        expect(existsSync(agent.pathOf("certs.d"))).toBe(false);
      }
      const verified = { verifyEndpoint: `https://127.0.0.1:${registry.port}`, verifyServerName: "registry.test" };
      expect(await agent.pass(itemOf({ alias: "corp", ...verified, reloadCommand: ["true"] }))).toMatchObject({ state: "installed" });
      expect(await isGotten()).toBe(true);
      agent.remove();
    });
  });

describe("containerd_certs_d with a hosts.toml", () => {
  const [tool] = TOOLS.filter(({ storeType }) => storeType === "containerd_certs_d") as [Tool];
  /** A mirror that is away, so that containerd goes on to the registry itself. */
  const MIRROR = '[host."https://127.0.0.1:1"]\n  capabilities = ["pull", "resolve"]';
  const settings = (text: string) => Bun.TOML.parse(text) as { ca?: unknown; client?: unknown };

  test("names the files at its beginning, and leaves the rest byte for byte", async () => {
    for (const foreign of [`# ours\n${MIRROR}\n`, MIRROR, `# wir, höchstselbst\r\n${MIRROR.replaceAll("\n", "\r\n")}\r\n\r\n`]) {
      const { agent, itemOf, clientOf, put, read, isGotten, isGottenByClient } = await begin(tool);
      put("hosts.toml", foreign);
      chmodSync(agent.pathOf("certs.d/registry.test/hosts.toml"), 0o600);
      const [corp, lab, own] = [
        itemOf({ alias: "corp" }),
        desired(other.root, { ...itemOf({ alias: "lab" }), id: crypto.randomUUID(), pem: other.root.pem, fingerprintSha256: other.root.fingerprint }),
        clientOf(),
      ];
      expect(await isGotten()).toBe(false);
      for (const item of [corp, lab, own]) expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      expect(settings(read("hosts.toml"))).toMatchObject({ ca: ["corp.crt", "lab.crt"], client: [["client.cert", "client.key"]] });
      expect(read("hosts.toml")).toEndWith(foreign);
      expect([await isGotten(), await isGottenByClient()]).toEqual([true, true]);
      for (const item of [corp, lab, own]) expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      await agent.withdraw(corp);
      expect(settings(read("hosts.toml"))).toMatchObject({ ca: ["lab.crt"], client: [["client.cert", "client.key"]] });
      expect(await isGotten()).toBe(false);
      for (const item of [own, lab]) await agent.withdraw(item);
      expect(Object.entries(stateOf(agent.pathOf("certs.d/registry.test")))).toEqual([["hosts.toml", expect.stringMatching(/^100600 /)]]);
      expect(read("hosts.toml")).toBe(foreign);
      agent.remove();
    }
  });

  test("drifted and healed: one that was made anew, or has lost a line of the agent's", async () => {
    const { agent, itemOf, put, read, isGotten } = await begin(tool);
    put("hosts.toml", `${MIRROR}\n`);
    const item = itemOf({ alias: "corp" });
    await agent.pass(item);
    const after = read("hosts.toml");
    const [begin_ = "", ca = "", end = ""] = after.split("\n");
    for (const damaged of [
      `${MIRROR}\n`,
      after.replace(`${begin_}\n`, ""),
      after.replace(`${end}\n`, ""),
      after.replace(ca, ""),
      after.replace(ca, "ca = [what"),
      after.replace(ca, 'ca = ["old.crt"]'),
    ]) {
      put("hosts.toml", damaged);
      expect([damaged, await agent.pass(item)]).toMatchObject([damaged, { state: "drifted", message: expect.stringContaining("hosts.toml") }]);
      expect(read("hosts.toml")).toContain(MIRROR);
      expect(settings(read("hosts.toml"))).toMatchObject({ ca: expect.arrayContaining(["corp.crt"]) });
      expect(await isGotten()).toBe(true);
      put("hosts.toml", after);
    }
    agent.remove();
  });

  test("failed: somebody else's ca, until it names the file too; a file that is no TOML", async () => {
    const { agent, directory, itemOf, put, read, isGotten } = await begin(tool);
    put("old.crt", other.root.pem);
    for (const [text, words] of [
      [`ca = "old.crt"\n${MIRROR}\n`, /has a setting ca already, and TOML allows only one. Add \["corp.crt"\] to it/],
      ["ca = [unfinished\n", /is not valid TOML, so that containerd does not read it either. Mend it first/],
    ] as const) {
      put("hosts.toml", text);
      const before = stateOf(directory);
      expect(await agent.pass(itemOf({ alias: "corp" }))).toMatchObject(failed(words));
      expect(stateOf(directory)).toEqual(before);
    }
    for (const ca of ['["old.crt", "corp.crt"]', `["${directory}/corp.crt"]`, '"corp.crt"', '"./corp.crt"']) {
      const text = `ca = ${ca}\n${MIRROR}\n`;
      put("hosts.toml", text);
      const item = itemOf({ alias: "corp" });
      expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      expect(read("hosts.toml")).toBe(text);
      expect(await isGotten()).toBe(true);
      await agent.withdraw(item);
      expect(read("hosts.toml")).toBe(text);
    }
    agent.remove();
  });
});
