import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { stateOf, withPrograms } from "../../support/agent/observing";
import { newLeaves, testServer } from "../../support/agent/server-behaviour";
import { newAuthority } from "../../support/pki/authority";
import { type AgentHost, runs } from "../../support/pki/tls-clients";
import { endServers, presentedAt, startRedis, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const leaves = await newLeaves();
afterAll(() => {
  endServers();
  leaves.authority.remove();
});

function start(agent: AgentHost, ...options: string[]) {
  mkdirSync(agent.pathOf("tls"));
  writePair(agent.pathOf("tls/redis.crt"), agent.pathOf("tls/redis.key"), leaves.bootstrap);
  return startRedis(agent.directory, ...options);
}

const PASSWORD = "open sesame";

/** A Redis with a password, which the agent reads from a file, and the client's calls. */
async function begin(...options: string[]) {
  const agent = await newAgentHost();
  const server = await start(agent, "--requirepass", PASSWORD, ...options);
  writeFileSync(agent.pathOf("password"), `${PASSWORD}\n`, { mode: 0o600 });
  const host = withPrograms(agent, { "redis-cli": `exec /usr/bin/redis-cli -p ${server.plainPort} "$@"` });
  const calls = () => readFileSync(agent.pathOf("calls"), "utf8");
  const config = { trustStorePath: agent.pathOf("tls"), storePasswordRef: `file:${agent.pathOf("password")}` };
  const pass = (item: Desired) => agent.pass(item, { host });
  async function end() {
    await server.stop();
    agent.remove();
  }
  return { agent, server, config, calls, pass, end };
}

describe("redis_server_tls", () => {
  testServer({ storeType: "redis_server_tls", certificateFile: "redis.crt", keyFile: "redis.key", start: (agent) => start(agent) }, () => leaves);

  test("without a reloadCommand the files are named to Redis, and the password is on no command line", async () => {
    const { agent, server, config, calls, pass, end } = await begin();
    expect(await pass(desiredServer(leaves.leaf, { trustStoreType: "redis_server_tls", config }))).toMatchObject({ state: "installed" });
    expect((await presentedAt(server.port))[0]).toBe(leaves.leaf.fingerprint);
    expect(calls()).toBe(`redis-cli -e CONFIG SET tls-cert-file ${agent.pathOf("tls/redis.crt")} tls-key-file ${agent.pathOf("tls/redis.key")}\n`);
    expect(calls() + JSON.stringify([...agent.state.records])).not.toContain(PASSWORD);
    await end();
  });

  test("a reloadCommand finds the password too, and so does the one after a rollback", async () => {
    const { agent, server, config, pass, end } = await begin();
    const reloadCommand = server.reloadCommand;
    const item = desiredServer(leaves.leaf, { trustStoreType: "redis_server_tls", config: { ...config, reloadCommand } });
    expect(await pass(item)).toMatchObject({ state: "installed" });
    expect((await presentedAt(server.port))[0]).toBe(leaves.leaf.fingerprint);
    const verified = { ...config, reloadCommand, verifyEndpoint: "tls://127.0.0.1:1" };
    const { pem, fingerprint, privateKeyPem } = leaves.next;
    const rotated = { ...item, version: 2, pem, fingerprintSha256: fingerprint, privateKeyPem, config: verified };
    const host = { ...agent.host, patience: { ...agent.host.patience, reload: 300 } };
    expect(await agent.pass(rotated, { host })).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/127.0.0.1:1 cannot be verified: .*Rolled back: the store is as it was/),
    });
    expect((await presentedAt(server.port))[0]).toBe(leaves.leaf.fingerprint);
    await end();
  });

  test("failed, each with its reason: a wrong password, none where one is needed, a file or variable that is not there, a vault", async () => {
    const { agent, server, config, pass, end } = await begin();
    writeFileSync(agent.pathOf("wrong"), "wrong\n");
    const before = stateOf(agent.pathOf("tls"));
    for (const [storePasswordRef, words] of [
      [`file:${agent.pathOf("wrong")}`, /WRONGPASS.*Rolled back/],
      [undefined, /NOAUTH Authentication required.*Rolled back/],
      [`file:${agent.pathOf("nowhere")}`, /cannot be read.*Rolled back/],
      ["env:NOWHERE_SET", /the environment variable NOWHERE_SET, which is not set/],
      ["vault:secret/redis#password", /cannot ask a vault/],
    ] as const) {
      const { storePasswordRef: _, ...rest } = config;
      const item = desiredServer(leaves.leaf, { trustStoreType: "redis_server_tls", config: { ...rest, ...(storePasswordRef && { storePasswordRef }) } });
      expect(await pass(item)).toMatchObject({ state: "failed", message: expect.stringMatching(words) });
      expect(stateOf(agent.pathOf("tls"))).toEqual(before);
      expect((await presentedAt(server.port))[0]).toBe(leaves.bootstrap.fingerprint);
    }
    await end();
  });

  test("Redis accepts the clients of the assigned anchor, and no others; its other settings stay", async () => {
    const other = await newAuthority();
    const { agent, server, config, pass, end } = await begin();
    const anchors = agent.pathOf("tls/anchor.crt");
    const item = desired(other.root, { trustStoreType: "redis_server_tls", config: { ...config, alias: "anchor" } });
    expect(await pass(item)).toMatchObject({ state: "installed" });
    const client = (...words: string[]) => runs(["redis-cli", "-e", "-p", String(server.plainPort), ...words], { REDISCLI_AUTH: PASSWORD });
    await client("CONFIG", "SET", "tls-ca-cert-file", anchors, "tls-auth-clients", "yes");
    const clients = { ours: leaves.next, theirs: await other.issueServer("client.test") };
    for (const [name, issued] of Object.entries(clients)) writePair(agent.pathOf(`${name}.crt`), agent.pathOf(`${name}.key`), issued);
    async function isAccepted(name: keyof typeof clients) {
      const pair = ["--cert", agent.pathOf(`${name}.crt`), "--key", agent.pathOf(`${name}.key`)];
      const asked = await runs(["redis-cli", "-e", "--tls", "--insecure", "-p", String(server.port), ...pair, "PING"], { REDISCLI_AUTH: PASSWORD });
      return asked.stdout.trim() === "PONG";
    }
    expect([await isAccepted("ours"), await isAccepted("theirs")]).toEqual([false, true]);
    const { pem, fingerprint } = leaves.authority.root;
    expect(await pass({ ...item, version: 2, pem, fingerprintSha256: fingerprint })).toMatchObject({ state: "installed" });
    expect([await isAccepted("ours"), await isAccepted("theirs")]).toEqual([true, false]);
    expect((await client("CONFIG", "GET", "tls-ca-cert-file")).stdout).toContain(anchors);
    other.remove();
    await end();
  });
});
