import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { presented } from "#agent/host/pem";
import { stateOf } from "../../support/agent/observing";
import { failed, newRegistries, newRegistryHost, type Registries, TOOLS } from "../../support/agent/registry-host";

setDefaultTimeout(300_000);

let world: Registries;
beforeAll(async () => {
  world = await newRegistries();
});
afterAll(() => world.end());

for (const tool of TOOLS)
  describe(tool, () => {
    test("failed: file names that container tools do not read, a client certificate without its key; nothing is left", async () => {
      const { agent, itemOf, clientOf } = await newRegistryHost(world, tool);
      const before = agent.files();
      expect(await agent.pass(itemOf({ certFileName: "ca.pem" }))).toMatchObject(failed(/config.certFileName must end in .crt/));
      expect(await agent.pass(clientOf({ certFileName: "world.client.pem" }))).toMatchObject(failed(/config.certFileName must end in .cert/));
      expect(await agent.pass(clientOf({ certFileName: "a.cert", keyFileName: "b.key" }))).toMatchObject(failed(/config.keyFileName must be a.key/));
      const withoutKey = clientOf({}, { includePrivateKey: false, privateKeyPem: null });
      expect(await agent.pass(withoutKey)).toMatchObject(failed(/client.cert|client.key has no private key. Include the private key/));
      expect(agent.files()).toEqual(before);
      agent.remove();
    });

    test("failed: another's file of that name stays, and its reader keeps trusting it", async () => {
      const { agent, itemOf, put, read, isGotten } = await newRegistryHost(world, tool);
      put("corp.crt", world.authority.root.pem);
      put("other.crt", world.other.root.pem);
      const moved = itemOf({ alias: "other" });
      expect(await agent.pass(moved)).toMatchObject(failed(/other.crt is there already, and not by this agent/));
      expect(read("other.crt")).toBe(world.other.root.pem);
      expect(await isGotten()).toBe(true);
      expect(await agent.pass(itemOf({ alias: "more" }))).toMatchObject({ state: "installed" });
      expect(await isGotten()).toBe(true);
      agent.remove();
    });

    test("refused, installed and accepted, left alone, moved, removed with its directory and refused", async () => {
      const { agent, directory, itemOf, isGotten } = await newRegistryHost(world, tool);
      mkdirSync(agent.pathOf("certs.d"));
      expect(await isGotten()).toBe(false);
      const item = itemOf({ alias: "corp" });
      expect(await agent.pass(item)).toMatchObject({ state: "installed", observedFingerprint: world.authority.root.fingerprint });
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
      const { agent, directory, itemOf, clientOf, read, isGottenByClient } = await newRegistryHost(world, tool);
      const [anchor, own] = [itemOf({ alias: "corp" }), clientOf()];
      await agent.pass(anchor);
      expect(await isGottenByClient()).toBe(false);
      expect(await agent.pass(own)).toMatchObject({ state: "installed", observedFingerprint: world.client.fingerprint });
      expect(await isGottenByClient()).toBe(true);
      expect(read("client.cert")).toBe(presented(world.client.pem, world.client.chain).join(""));
      expect(stateOf(directory)["client.key"]).toStartWith("100600 ");
      expect(await agent.withdraw(anchor)).toEqual({ state: "removed" });
      expect(readdirSync(directory)).toEqual(["client.cert", "client.key"]);
      expect(await agent.withdraw(own)).toEqual({ state: "removed" });
      expect(existsSync(agent.pathOf("certs.d"))).toBe(false);
      agent.remove();
    });

    test("drifted and healed: what is gone, replaced or open to others", async () => {
      const { agent, directory, itemOf, clientOf, isGottenByClient } = await newRegistryHost(world, tool);
      const items = [itemOf({ alias: "corp" }), clientOf()];
      for (const item of items) await agent.pass(item);
      const after = stateOf(directory);
      for (const spoil of [
        () => rmSync(`${directory}/corp.crt`),
        () => writeFileSync(`${directory}/corp.crt`, world.other.root.pem),
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
      const { agent, itemOf, isGotten } = await newRegistryHost(world, tool);
      for (const config of [{ reloadCommand: ["false"] }, { verifyEndpoint: `https://127.0.0.1:${world.registry.port}`, verifyServerName: "wrong.test" }]) {
        expect(await agent.pass(itemOf({ alias: "corp", ...config }))).toMatchObject(failed(/Rolled back: the store is as it was/));
        expect(existsSync(agent.pathOf("certs.d"))).toBe(false);
      }
      const verified = { verifyEndpoint: `https://127.0.0.1:${world.registry.port}`, verifyServerName: "registry.test" };
      expect(await agent.pass(itemOf({ alias: "corp", ...verified, reloadCommand: ["true"] }))).toMatchObject({ state: "installed" });
      expect(await isGotten()).toBe(true);
      agent.remove();
    });
  });
