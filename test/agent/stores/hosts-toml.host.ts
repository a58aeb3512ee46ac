import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync } from "node:fs";
import { desired } from "../../support/agent/agent-host";
import { stateOf } from "../../support/agent/observing";
import { failed, newRegistries, newRegistryHost, type Registries } from "../../support/agent/registry-host";

setDefaultTimeout(300_000);

let world: Registries;
beforeAll(async () => {
  world = await newRegistries();
});
afterAll(() => world.end());

describe("containerd_certs_d with a hosts.toml", () => {
  const tool = "containerd_certs_d";
  /** A mirror that is away, so that containerd goes on to the registry itself. */
  const MIRROR = '[host."https://127.0.0.1:1"]\n  capabilities = ["pull", "resolve"]';
  const settings = (text: string) => Bun.TOML.parse(text) as { ca?: unknown; client?: unknown };

  test("names the files at its beginning, and leaves the rest byte for byte", async () => {
    for (const foreign of [`# ours\n${MIRROR}\n`, MIRROR, `# wir, höchstselbst\r\n${MIRROR.replaceAll("\n", "\r\n")}\r\n\r\n`]) {
      const { agent, itemOf, clientOf, put, read, isGotten, isGottenByClient } = await newRegistryHost(world, tool);
      put("hosts.toml", foreign);
      chmodSync(agent.pathOf("certs.d/registry.test/hosts.toml"), 0o600);
      const [corp, lab, own] = [
        itemOf({ alias: "corp" }),
        desired(world.other.root, {
          ...itemOf({ alias: "lab" }),
          id: crypto.randomUUID(),
          pem: world.other.root.pem,
          fingerprintSha256: world.other.root.fingerprint,
        }),
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

  test("drifted and healed: one that was made again, or has lost a line of the agent's", async () => {
    const { agent, itemOf, put, read, isGotten } = await newRegistryHost(world, tool);
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

  test("failed: another's ca, until it names the file too; a file that is no TOML", async () => {
    const { agent, directory, itemOf, put, read, isGotten } = await newRegistryHost(world, tool);
    put("old.crt", world.other.root.pem);
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
