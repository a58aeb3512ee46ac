import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newConnectedAgent } from "../../../../support/agent/connected-agent";
import { formsOf } from "../../../../support/pki/key-forms";
import { work } from "../requests";
import { orderFor } from "./orders";

setDefaultTimeout(300_000);

describe("a certificate for a key of the host's own", () => {
  test("comes, is renewed with a new key, and no form of either key was ever sent to the server, a log or the agent's own directory", async () => {
    const heard: Buffer[] = [];
    const agent = await newConnectedAgent(undefined, (bytes) => void heard.push(Buffer.from(bytes)));
    agent.setPolicy({ directories: [agent.pathOf("store")], privateKeys: true });
    const requests = await orderFor(agent, agent.pathOf("store"));
    const first = await requests.order();
    const names = () => readdirSync(agent.pathOf("store")).toSorted();
    const read = (name: string) => readFileSync(agent.pathOf("store", name), "utf8");

    expect(await agent.pass()).toEqual({ failed: 0, isAwaiting: true, isNews: true });
    expect(names()).toEqual([`.certitude-${first.id}.pending`]);
    expect((await requests.get(first.id)).steps.at(-1)).toMatchObject({ reason: "The agent has made the key." });
    await agent.pass();
    await work();
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(names()).toEqual(["tls.crt", "tls.key"]);
    const assignment = await requests.assignment(first.id);
    expect(assignment).toMatchObject({ keyOnHost: true, includePrivateKey: false, autoRenew: true, version: 1, report: { state: "installed" } });
    const [key, certificate] = [read("tls.key"), read("tls.crt")];
    expect(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))).toBe(true);

    const second = await requests.renew((await requests.get(first.id)).certificateId);
    await agent.pass();
    expect(names()).toEqual([`.certitude-${second.id}.pending`, "tls.crt", "tls.key"]);
    expect(read("tls.key")).toBe(key);
    await work();
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect(names()).toEqual(["tls.crt", "tls.key"]);
    expect(await requests.assignment(first.id)).toMatchObject({ keyOnHost: true, version: 2, report: { state: "installed" } });
    expect(await agent.historyOf(first.id)).toEqual(["installed", "installed"]);
    const renewed = read("tls.key");
    expect(renewed).not.toBe(key);
    expect(new X509Certificate(read("tls.crt")).checkPrivateKey(createPrivateKey(renewed))).toBe(true);

    const state = readdirSync(agent.pathOf("state"), { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => readFileSync(join(each.parentPath, each.name)));
    const traffic = Buffer.concat(heard);
    expect(traffic.includes("BEGIN CERTIFICATE REQUEST")).toBe(true);
    expect(traffic.includes("content-encoding")).toBe(false);
    for (const form of [...formsOf(key), ...formsOf(renewed)])
      for (const received of [traffic, Buffer.from(JSON.stringify(agent.said)), ...state]) expect(received.includes(form)).toBe(false);
    await agent.end();
  });

  test("is reported once, where the host does not permit it; a request that is cancelled leaves nothing", async () => {
    const agent = await newConnectedAgent();
    const requests = await orderFor(agent, agent.pathOf("store"));
    const { id } = await requests.order();
    expect(await agent.pass()).toEqual({ failed: 1, isAwaiting: true, isNews: true });
    await agent.pass();
    const { reason, steps, version } = await requests.get(id);
    expect(reason).toMatch(/^The host does not permit the key: .*certitude agent policy allow --private-keys$/);
    expect(steps.filter((each: { reason: string }) => each.reason === reason)).toHaveLength(1);
    agent.setPolicy({ directories: [agent.pathOf("store")], privateKeys: true });
    expect(await agent.pass()).toEqual({ failed: 0, isAwaiting: true, isNews: false });
    expect(readdirSync(agent.pathOf("store"))).toEqual([`.certitude-${id}.pending`]);
    expect(version).toBeGreaterThan(1);
    await requests.cancel(id);
    await agent.pass();
    expect(readdirSync(agent.pathOf("store"))).toEqual([]);
    await agent.end();
  });

  test("an answer that was lost: the same key is sent again, and the server has it already", async () => {
    const agent = await newConnectedAgent();
    agent.setPolicy({ directories: [agent.pathOf("store")], privateKeys: true });
    const requests = await orderFor(agent, agent.pathOf("store"));
    const { id } = await requests.order();
    const desired = await agent.client.fetchDesired(undefined);
    await agent.pass();
    const key = readFileSync(agent.pathOf(`store/.certitude-${id}.pending`), "utf8");
    if (desired) await agent.state().saveKnown({ ...desired, etag: "" });
    await agent.restart();
    expect(await agent.pass()).toEqual({ failed: 0, isAwaiting: true, isNews: true });
    expect(readFileSync(agent.pathOf(`store/.certitude-${id}.pending`), "utf8")).toBe(key);
    await agent.end();
  });
});
