import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { desired, newAgentHost } from "../../support/agent/agent-host";
import { stateOf } from "../../support/agent/observing";
import { newParties, type Parties } from "../../support/agent/store-behaviour";
import { newAuthority, serveTls } from "../../support/pki/authority";
import { type AgentHost, runs, trusts } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

/** A directory that already has somebody else's root. */
async function begin() {
  const agent = await newAgentHost();
  mkdirSync(agent.pathOf("certs"));
  writeFileSync(agent.pathOf("certs/known.pem"), parties.known.root.pem);
  await runs(["openssl", "rehash", agent.pathOf("certs")]);
  return agent;
}

const anchor = (agent: AgentHost, config: Desired["config"] = {}, root = parties.authority.root) =>
  desired(root, { trustStoreType: "openssl_ca_dir", config: { trustStorePath: agent.pathOf("certs"), alias: "corp", ...config } });
const installed = () => ({ state: "installed" as const, observedFingerprint: parties.authority.root.fingerprint });
const names = (agent: AgentHost) =>
  readdirSync(agent.pathOf("certs"))
    .filter((name) => name.endsWith(".pem"))
    .toSorted();

/** Whether openssl accepts the server by the directory alone. */
const accepts = (agent: AgentHost, { port }: { port: number }) =>
  trusts(["openssl", "s_client", "-connect", `127.0.0.1:${port}`, "-CApath", agent.pathOf("certs"), "-no-CAfile", "-no-CAstore", "-verify_return_error"]);
const verifies = async (agent: AgentHost) => ({ ours: await accepts(agent, parties.server), known: await accepts(agent, parties.knownServer) });

describe("openssl_ca_dir", () => {
  test("installed, then nothing to do; removed, and only that", async () => {
    const agent = await begin();
    const before = stateOf(agent.pathOf("certs"));
    expect(await verifies(agent)).toEqual({ ours: false, known: true });
    const item = anchor(agent);
    expect(await agent.pass(item)).toEqual(installed());
    expect(await verifies(agent)).toEqual({ ours: true, known: true });
    const held = stateOf(agent.pathOf("certs"));
    expect(await agent.pass(item)).toEqual(installed());
    expect(stateOf(agent.pathOf("certs"))).toEqual(held);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(stateOf(agent.pathOf("certs"))).toEqual(before);
    agent.remove();
  });

  test("drifted and healed: the file, or its link, is gone or leads elsewhere", async () => {
    const agent = await begin();
    const item = anchor(agent);
    await agent.pass(item);
    const links = () => readdirSync(agent.pathOf("certs")).filter((name) => /\.\d$/.test(name));
    const spoil = [
      () => rmSync(agent.pathOf("certs/corp.pem")),
      () => writeFileSync(agent.pathOf("certs/corp.pem"), parties.known.root.pem),
      () => links().map((name) => rmSync(agent.pathOf("certs", name))),
      () => links().map((name) => [rmSync(agent.pathOf("certs", name)), symlinkSync("known.pem", agent.pathOf("certs", name))]),
    ];
    for (const each of spoil) {
      each();
      expect(await agent.pass(item)).toMatchObject({ state: "drifted", observedFingerprint: parties.authority.root.fingerprint });
      expect(await verifies(agent)).toEqual({ ours: true, known: true });
    }
    agent.remove();
  });

  test("the same certificate by two names is linked once, and stays trusted until the last of them goes", async () => {
    const agent = await begin();
    const [first, second] = [anchor(agent), anchor(agent, { alias: "again" })];
    expect(await agent.pass(first)).toEqual(installed());
    expect(await agent.pass(second)).toEqual(installed());
    expect(names(agent)).toEqual(["again.pem", "corp.pem", "known.pem"]);
    expect(await agent.withdraw(first)).toMatchObject({ state: "kept", message: expect.stringContaining("leads to it") });
    expect(await verifies(agent)).toEqual({ ours: true, known: true });
    expect(await agent.pass(second)).toEqual(installed());
    expect(await agent.withdraw(second)).toEqual({ state: "removed" });
    expect(await verifies(agent)).toEqual({ ours: false, known: true });
    agent.remove();
  });

  test("a root and its successor of the same name: whichever goes, by the agent or by hand, the other stays trusted", async () => {
    const generations = await Promise.all([newAuthority("Twice Named"), newAuthority("Twice Named")]);
    const servers = await Promise.all(generations.map((each) => each.issueServer("good.test").then(serveTls)));
    for (const [goes, stays] of [["0", "1"] as const, ["1", "0"] as const]) {
      const agent = await begin();
      const items = generations.map(({ root }, index) => ({ ...anchor(agent, { alias: `generation-${index}` }, root) }));
      const trusted = () => Promise.all(servers.map((each) => accepts(agent, each)));
      const onlyOne = [stays === "0", stays === "1"];
      const [going, staying] = [items[Number(goes)], items[Number(stays)]];
      if (!going || !staying) throw new Error("there are two generations");
      for (const each of items) expect(await agent.pass(each)).toMatchObject({ state: "installed" });
      expect(await trusted()).toEqual([true, true]);
      expect(await agent.withdraw(going)).toEqual({ state: "removed" });
      expect(await trusted()).toEqual(onlyOne);
      const failing = { ...going, version: 2, config: { ...going.config, reloadCommand: ["false"] } };
      expect(await agent.pass(failing)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back") });
      expect(await trusted()).toEqual(onlyOne);
      expect(await agent.pass(going)).toMatchObject({ state: "installed" });
      rmSync(agent.pathOf(`certs/generation-${goes}.pem`));
      await agent.pass(staying);
      expect(await trusted()).toEqual(onlyOne);
      agent.remove();
    }
    await Promise.all(servers.map((each) => each.stop()));
    for (const each of generations) each.remove();
  });

  test("failed: another's file of that name, and a host without openssl; nothing is changed", async () => {
    const agent = await begin();
    const before = stateOf(agent.pathOf("certs"));
    expect(await agent.pass(anchor(agent, { alias: "known" }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("known.pem is there already"),
    });
    mkdirSync(agent.pathOf("bin"));
    symlinkSync("/usr/bin/find", agent.pathOf("bin/find"));
    const host = { ...agent.host, environment: { ...agent.host.environment, PATH: agent.pathOf("bin") } };
    expect(await agent.pass(anchor(agent), { host })).toMatchObject({
      state: "failed",
      message: expect.stringContaining("openssl is not installed on this host"),
    });
    expect(stateOf(agent.pathOf("certs"))).toEqual(before);
    agent.remove();
  });

  test("another alias moves it; a directory that is missing is made, and goes again", async () => {
    const agent = await begin();
    const item = anchor(agent);
    await agent.pass(item);
    expect(await agent.pass({ ...item, version: 2, config: { ...item.config, alias: "moved" } })).toEqual(installed());
    expect(names(agent)).toEqual(["known.pem", "moved.pem"]);
    const elsewhere = anchor(agent, { trustStorePath: agent.pathOf("deep/er") });
    expect(await agent.pass(elsewhere)).toEqual(installed());
    expect(await agent.withdraw(elsewhere)).toEqual({ state: "removed" });
    expect(existsSync(agent.pathOf("deep"))).toBe(false);
    agent.remove();
  });
});
