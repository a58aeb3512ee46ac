import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { desired } from "../../support/agent/agent-host";
import { newKnowingHost, newParties, type Parties, put, testBehaviour } from "../../support/agent/store-behaviour";
import { type AgentHost, contentOf, curlTrusts, runs, variablesIn } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

const rcOf = ({ pathOf }: AgentHost) => pathOf("home/.curlrc");

describe("curl_ca_bundle", () => {
  testBehaviour("~/.curlrc", () => parties, {
    storeType: "curl_ca_bundle",
    config: () => ({}),
    prepare: (agent) => put(rcOf(agent), "# mine\nuser-agent = x\n"),
    isTrusting: ({ pathOf }, url) => curlTrusts(url, { HOME: pathOf("home") }),
    keepsRoots: true,
    spoil: (agent) => [rcOf(agent), agent.pathOf("home/.curlrc.curl_ca_bundle.pem")],
    elsewhere: ({ pathOf }) => ({ trustStorePath: pathOf('a "place"'), certFileName: "ca.pem" }),
    isElsewhere: ({ pathOf }) => existsSync(pathOf('a "place"/ca.pem')),
  });

  testBehaviour("CURL_CA_BUNDLE", () => parties, {
    storeType: "curl_ca_bundle",
    config: ({ pathOf }) => ({ envFilePath: pathOf("etc/profile.d/ca.sh") }),
    isTrusting: async ({ pathOf }, url) => curlTrusts(url, await variablesIn(pathOf("etc/profile.d/ca.sh"))),
    keepsRoots: true,
    spoil: ({ pathOf }) => [pathOf("etc/profile.d/ca.sh"), pathOf("etc/profile.d/ca.sh.curl_ca_bundle.pem")],
    elsewhere: () => ({}),
    isElsewhere: (agent) => existsSync(rcOf(agent)),
  });

  testBehaviour("the system's store", () => parties, {
    storeType: "curl_ca_bundle",
    config: () => ({ preferOsStore: true }),
    // A curl that knows ca-native goes by its own default too, which is the machine's store and not the scratch one.
    isTrusting: async (agent, url) => {
      const isNative = existsSync(rcOf(agent)) && readFileSync(rcOf(agent), "utf8").includes("\nca-native\n");
      return curlTrusts(url, { HOME: agent.pathOf("home"), ...(isNative && { CURL_CA_BUNDLE: agent.host.system.bundle }) });
    },
    keepsRoots: true,
    spoil: (agent) => [rcOf(agent)],
    elsewhere: () => ({}),
    isElsewhere: ({ files }) => !files().some((name) => /^anchors\/certitude/.test(name)),
  });

  test("ca-native is written where curl knows it", async () => {
    const agent = await newKnowingHost(parties);
    const item = desired(parties.authority.root, { trustStoreType: "curl_ca_bundle", config: { preferOsStore: true } });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    const { isGood } = await runs(["/usr/bin/curl", "--ca-native", "--version"]);
    expect(readFileSync(rcOf(agent), "utf8")).toContain(isGood ? "\nca-native\n" : `\ncacert = "${agent.host.system.bundle}"\n`);
    agent.remove();
  });

  test("failed: another's setting stays as it is, and so does the rest", async () => {
    const agent = await newKnowingHost(parties);
    for (const line of ['cacert = "/etc/mine.pem"', "--cacert /etc/mine.pem", "cacert:/etc/mine.pem"]) {
      writeFileSync(rcOf(agent), `${line}\n`);
      const before = contentOf(agent);
      const item = desired(parties.authority.root, { trustStoreType: "curl_ca_bundle" });
      expect(await agent.pass(item)).toMatchObject({
        state: "failed",
        message: expect.stringContaining("sets cacert to ‹/etc/mine.pem›, and not by this agent"),
      });
      expect(contentOf(agent)).toEqual(before);
    }
    agent.remove();
  });

  test("failed: without curl nobody knows what it knows", async () => {
    const agent = await newKnowingHost(parties);
    const item = desired(parties.authority.root, { trustStoreType: "curl_ca_bundle", config: { preferOsStore: true } });
    const host = { ...agent.host, environment: { PATH: agent.pathOf("nothing") } };
    expect(await agent.pass(item, { host })).toMatchObject({ state: "failed", message: expect.stringContaining("curl is not installed on this host") });
    expect(agent.files()).toEqual(["certs/ca-certificates.crt", "mozilla/chosen", "mozilla/public.crt"]);
    agent.remove();
  });
});
