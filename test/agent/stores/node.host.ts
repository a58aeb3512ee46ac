import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { desired } from "../../support/agent/agent-host";
import { newKnowingHost, newParties, type Parties, put, testBehaviour } from "../../support/agent/store-behaviour";
import { type AgentHost, contentOf, nodeTrusts, runs, variablesIn } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

const envFileOf = ({ pathOf }: AgentHost) => pathOf("etc/default/service");
const anchor = (agent: AgentHost, config: Desired["config"] = {}) =>
  desired(parties.authority.root, { trustStoreType: "nodejs_extra_ca_certs", config: { envFilePath: envFileOf(agent), ...config } });
const optionsOf = async (file: string) => (await variablesIn(file)).NODE_OPTIONS;

describe("nodejs_extra_ca_certs", () => {
  testBehaviour("NODE_EXTRA_CA_CERTS", () => parties, {
    storeType: "nodejs_extra_ca_certs",
    config: (agent) => ({ envFilePath: envFileOf(agent) }),
    prepare: (agent) => put(envFileOf(agent), "PORT=80\n"),
    isTrusting: async (agent, url) => nodeTrusts(url, await variablesIn(envFileOf(agent))),
    keepsRoots: false,
    spoil: (agent) => [envFileOf(agent), `${envFileOf(agent)}.nodejs_extra_ca_certs.pem`],
    elsewhere: ({ pathOf }) => ({ envFilePath: pathOf("etc/node.sh"), nodeFlags: ["--no-deprecation", "--title=my node"] }),
    isElsewhere: (agent) => existsSync(agent.pathOf("etc/node.sh")) && !existsSync(`${envFileOf(agent)}.nodejs_extra_ca_certs.pem`),
  });

  testBehaviour("OpenSSL's list and the anchors", () => parties, {
    storeType: "nodejs_extra_ca_certs",
    config: (agent) => ({ envFilePath: envFileOf(agent), useOpensslCa: true, trustStorePath: agent.pathOf("node"), certFileName: "anchors.pem" }),
    prepare: (agent) => put(envFileOf(agent), "NODE_OPTIONS='--no-deprecation --no-warnings'"),
    isTrusting: async (agent, url) => nodeTrusts(url, await variablesIn(envFileOf(agent))),
    keepsRoots: false,
    spoil: (agent) => [agent.pathOf("node/anchors.pem")],
    elsewhere: (agent) => ({ envFilePath: envFileOf(agent) }),
    isElsewhere: (agent) => !readFileSync(envFileOf(agent), "utf8").includes("--use-openssl-ca"),
  });

  testBehaviour("the system's store by OpenSSL", () => parties, {
    storeType: "nodejs_extra_ca_certs",
    config: (agent) => ({ envFilePath: envFileOf(agent), preferOsStore: true, useOpensslCa: true }),
    isTrusting: async (agent, url) => nodeTrusts(url, await variablesIn(envFileOf(agent))),
    keepsRoots: true,
    spoil: (agent) => [envFileOf(agent)],
    elsewhere: (agent) => ({ envFilePath: envFileOf(agent) }),
    isElsewhere: ({ files }) => !files().some((name) => /^anchors\/certitude/.test(name)),
  });

  test("--use-system-ca is set where node knows it, and else refused before anything is written", async () => {
    const agent = await newKnowingHost(parties);
    const before = contentOf(agent);
    const { isGood } = await runs(["node", "--eval", ""], { NODE_OPTIONS: "--use-system-ca" });
    const result = await agent.pass(anchor(agent, { preferOsStore: true }));
    if (isGood) {
      expect(result).toMatchObject({ state: "installed" });
      expect(await optionsOf(envFileOf(agent))).toBe("--use-system-ca");
    } else {
      expect(result).toMatchObject({
        state: "failed",
        message: expect.stringMatching(/node does not take --use-system-ca in NODE_OPTIONS.*config.useOpensslCa/),
      });
      expect(contentOf(agent)).toEqual(before);
    }
    agent.remove();
  });

  test("failed: flags that node does not take, a line break in one, no node to ask; nothing is written", async () => {
    const agent = await newKnowingHost(parties);
    put(envFileOf(agent), "PORT=80\n");
    const before = contentOf(agent);
    for (const [nodeFlags, words] of [
      [["--eval=1"], "node does not take --eval=1 in NODE_OPTIONS, and would not start"],
      [["--use-openssl-ca", "--use-bundled-ca"], "node does not start with both --use-openssl-ca and --use-bundled-ca"],
    ] as const)
      expect(await agent.pass(anchor(agent, { nodeFlags: [...nodeFlags] }))).toMatchObject({ state: "failed", message: expect.stringContaining(words) });
    expect(await agent.pass(anchor(agent, { nodeFlags: ["--no-warnings\nPATH=/tmp"] }))).toMatchObject({
      state: "failed",
      message: "config.nodeFlags must be flags that begin with -, without control characters.",
    });
    const host = { ...agent.host, environment: { PATH: agent.pathOf("nothing") } };
    expect(await agent.pass(anchor(agent, { nodeFlags: ["--no-warnings"] }), { host })).toMatchObject({
      state: "failed",
      message: expect.stringContaining("node is not installed on this host"),
    });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("flags of others stay; those of an assignment are added, and go with the last that wants the same", async () => {
    const agent = await newKnowingHost(parties);
    for (const [file, foreign] of [
      [envFileOf(agent), "NODE_OPTIONS='--max-old-space-size=300'\n"],
      [agent.pathOf("etc/node.sh"), 'export NODE_OPTIONS="--max-old-space-size=300"\n'],
    ] as const) {
      put(file, foreign);
      const [one, two] = [
        anchor(agent, { envFilePath: file, nodeFlags: ["--no-warnings"] }),
        anchor(agent, { envFilePath: file, nodeFlags: ["--no-warnings"], useOpensslCa: true }),
      ];
      await agent.pass(one);
      await agent.pass(two);
      expect(await agent.pass(one)).toMatchObject({ state: "installed" });
      expect(await optionsOf(file)).toBe("--max-old-space-size=300 --no-warnings --use-openssl-ca --no-warnings");
      expect(await nodeTrusts(parties.server.url, await variablesIn(file))).toBe(true);
      await agent.withdraw(two);
      expect(await optionsOf(file)).toBe("--max-old-space-size=300 --no-warnings");
      expect(await agent.pass(one)).toMatchObject({ state: "installed" });
      writeFileSync(file, readFileSync(file, "utf8").replace("=300", "=301") + foreign.replace("=300", "=301"));
      expect(await agent.pass(one)).toMatchObject({ state: "drifted", message: expect.stringContaining("does not add --no-warnings to NODE_OPTIONS") });
      expect(await optionsOf(file)).toMatch(/--max-old-space-size=301 --no-warnings$/);
      await agent.withdraw(one);
      expect(readFileSync(file, "utf8")).toBe(foreign.replace("=300", "=301").repeat(2));
      rmSync(file);
    }
    agent.remove();
  });
});
