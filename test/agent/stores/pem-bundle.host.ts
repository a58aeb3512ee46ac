import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { desired } from "../../support/agent/agent-host";
import { newKnowingHost, newParties, type Parties, put, testBehaviour } from "../../support/agent/store-behaviour";
import { type AgentHost, contentOf, curlTrusts } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

const bundleOf = ({ pathOf }: AgentHost) => pathOf("image/ca.pem");
const anchor = (agent: AgentHost, more: Partial<Desired> = {}) =>
  desired(parties.authority.root, { trustStoreType: "pem_ca_bundle", config: { trustStorePath: bundleOf(agent) }, ...more });
const curlTrustsBy = (agent: AgentHost, url = parties.server.url) => curlTrusts(url, {}, "--cacert", bundleOf(agent));

describe("pem_ca_bundle", () => {
  testBehaviour("a bundle of others", () => parties, {
    storeType: "pem_ca_bundle",
    config: (agent) => ({ trustStorePath: bundleOf(agent) }),
    prepare: (agent) => put(bundleOf(agent), `# Größe\r\n${parties.known.root.pem.trimEnd().replaceAll("\n", "\r\n")}`),
    isTrusting: (agent, url) => curlTrustsBy(agent, url),
    keepsRoots: true,
    spoil: (agent) => [bundleOf(agent)],
    elsewhere: ({ pathOf }) => ({ trustStorePath: pathOf("image/other.pem") }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf("image/other.pem")),
  });

  test("failed: a path that is a link, a directory, or none of this host; nothing is left", async () => {
    const agent = await newKnowingHost(parties);
    put(bundleOf(agent), parties.known.root.pem);
    symlinkSync(bundleOf(agent), agent.pathOf("link.pem"));
    const before = contentOf(agent);
    for (const [trustStorePath, words] of [
      [agent.pathOf("link.pem"), "is a symbolic link to"],
      [agent.pathOf("image"), "is not a plain file"],
      ["ca.pem", "config.trustStorePath must be an absolute path, such as"],
      [`${bundleOf(agent)}/ca.pem`, "is not a directory"],
    ] as const) {
      expect(await agent.pass(anchor(agent, { config: { trustStorePath } }))).toMatchObject({ state: "failed", message: expect.stringContaining(words) });
      expect(contentOf(agent)).toEqual(before);
    }
    agent.remove();
  });

  test("what another put there counts as installed, and stays", async () => {
    const agent = await newKnowingHost(parties);
    put(bundleOf(agent), parties.authority.root.pem);
    const before = contentOf(agent);
    const item = anchor(agent);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(contentOf(agent)).toEqual(before);
    expect(await agent.withdraw(item)).toEqual({
      state: "kept",
      message: expect.stringMatching(/^It was there before .*left it there: .*\/ca.pem holds it.$/),
    });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("what another added later stays when the agent's block goes", async () => {
    const agent = await newKnowingHost(parties);
    put(bundleOf(agent), parties.known.root.pem);
    const item = anchor(agent);
    await agent.pass(item);
    appendFileSync(bundleOf(agent), parties.authority.root.pem);
    const message = `Another owner, or another assignment, has put it there too, and that stays: ${bundleOf(agent)} holds it.`;
    expect(await agent.withdraw(item)).toEqual({ state: "kept", message });
    expect(readFileSync(bundleOf(agent), "utf8")).toBe(parties.known.root.pem + parties.authority.root.pem);
    agent.remove();
  });

  test("two assignments in one file: each goes alone, in whatever order", async () => {
    for (const order of [0, 1]) {
      const agent = await newKnowingHost(parties);
      put(bundleOf(agent), "# mine, without an end");
      const before = contentOf(agent);
      const items = [
        anchor(agent),
        desired(parties.authority.intermediate, {
          trustStoreType: "pem_ca_bundle",
          materialType: "intermediate_ca",
          config: { trustStorePath: bundleOf(agent) },
        }),
      ];
      const [first, second] = order === 0 ? items : items.toReversed();
      if (!first || !second) throw new Error("there are two");
      for (const item of items) expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      expect(await agent.withdraw(first)).toEqual({ state: "removed" });
      expect(await agent.pass(second)).toMatchObject({ state: "installed" });
      expect(await agent.withdraw(second)).toEqual({ state: "removed" });
      expect(contentOf(agent)).toEqual(before);
      agent.remove();
    }
  });

  test("a damaged block is healed, and taken away whole even when it is damaged at the end", async () => {
    const begin = /# BEGIN certitude .*\n/;
    const end = /# END certitude .*\n/;
    const damages: ((text: string) => string)[] = [
      (text) => text.replace(begin, ""),
      (text) => text.replace(end, ""),
      (text) => text + (begin.exec(text)?.[0] ?? ""),
      (text) => text.slice(0, text.indexOf("-----END CERTIFICATE", text.search(begin)) - 40),
      (text) => text.replace(/(# BEGIN certitude .*\n).*\n/, "$1"),
    ];
    const agent = await newKnowingHost(parties);
    put(bundleOf(agent), parties.known.root.pem);
    for (const damage of damages) {
      const item = anchor(agent);
      await agent.pass(item);
      const whole = readFileSync(bundleOf(agent), "utf8");
      const spoil = () => writeFileSync(bundleOf(agent), damage(whole));
      spoil();
      expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
      expect(await curlTrustsBy(agent)).toBe(true);
      expect(await curlTrustsBy(agent, parties.knownServer.url)).toBe(true);
      spoil();
      expect(await agent.withdraw(item)).toEqual({ state: "removed" });
      expect(readFileSync(bundleOf(agent), "utf8").trimEnd()).toBe(parties.known.root.pem.trimEnd());
      expect(await curlTrustsBy(agent)).toBe(false);
    }
    agent.remove();
  });
});
