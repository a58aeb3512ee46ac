import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { presented } from "#agent/host/pem";
import { desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { stateOf, until, withPrograms } from "../../support/agent/observing";
import { type Leaves, newLeaves, testServer } from "../../support/agent/server-behaviour";
import { endServers, presentedAt, startHaproxy, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const leaves = await newLeaves();
afterAll(() => {
  endServers();
  leaves.authority.remove();
});

const wholeOf = ({ pem, chain, privateKeyPem }: Leaves["leaf"]) => presented(pem, chain).join("") + privateKeyPem;

/** HAProxy with certificate and key in one file, as is usual. */
async function begin() {
  const agent = await newAgentHost();
  mkdirSync(agent.pathOf("tls"));
  writeFileSync(agent.pathOf("tls/tls.pem"), wholeOf(leaves.bootstrap), { mode: 0o640 });
  const server = await startHaproxy(agent.directory, agent.pathOf("tls/tls.pem"));
  const config = { trustStorePath: agent.pathOf("tls"), reloadCommand: server.reloadCommand, verifyEndpoint: `tls://127.0.0.1:${server.port}` };
  async function end() {
    await server.stop();
    agent.remove();
  }
  return { agent, server, config, end, path: agent.pathOf("tls/tls.pem") };
}

describe("haproxy_tls", () => {
  testServer(
    {
      storeType: "haproxy_tls",
      certificateFile: "tls.pem",
      keyFile: "tls.pem.key",
      config: { keyFileName: "tls.pem.key" },
      start(agent, bootstrap) {
        mkdirSync(agent.pathOf("tls"));
        writePair(agent.pathOf("tls/tls.pem"), agent.pathOf("tls/tls.pem.key"), bootstrap);
        return startHaproxy(agent.directory, agent.pathOf("tls/tls.pem"));
      },
    },
    () => leaves,
  );

  test("one file holds leaf, chain and key, open to nobody else, and what was there before comes back", async () => {
    const { agent, server, config, path, end } = await begin();
    const before = stateOf(agent.pathOf("tls"));
    const item = desiredServer(leaves.leaf, { trustStoreType: "haproxy_tls", config });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    await until(async () => expect((await presentedAt(server.port))[0]).toBe(leaves.leaf.fingerprint));
    expect(readFileSync(path, "utf8")).toBe(wholeOf(leaves.leaf));
    const after = stateOf(agent.pathOf("tls"));
    expect(Object.keys(after)).toEqual(["tls.pem"]);
    expect(after["tls.pem"]).toStartWith("100600 ");
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(stateOf(agent.pathOf("tls"))).toEqual(before);
    await until(async () => expect((await presentedAt(server.port))[0]).toBe(leaves.bootstrap.fingerprint));
    await end();
  });

  test("without the private key, the one in the file stays in the file; one that does not fit, or none, is refused", async () => {
    const { agent, config, path, end } = await begin();
    const item = (issued: Leaves["leaf"]) => desiredServer(issued, { trustStoreType: "haproxy_tls", config, includePrivateKey: false, privateKeyPem: null });
    expect(await agent.pass(item(leaves.leaf))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("has the private key of another certificate"),
    });
    expect(readFileSync(path, "utf8")).toBe(wholeOf(leaves.bootstrap));
    writeFileSync(path, leaves.next.pem + leaves.bootstrap.privateKeyPem);
    expect(await agent.pass(item(leaves.bootstrap))).toMatchObject({ state: "installed" });
    expect(readFileSync(path, "utf8")).toBe(wholeOf(leaves.bootstrap));
    writeFileSync(path, leaves.bootstrap.pem);
    expect(await agent.pass(item(leaves.bootstrap))).toMatchObject({ state: "failed", message: expect.stringContaining("tls.pem has no private key") });
    expect(readFileSync(path, "utf8")).toBe(leaves.bootstrap.pem);
    await end();
  });

  test("failed: a key file where HAProxy does not look", async () => {
    const { agent, config, end } = await begin();
    const before = stateOf(agent.pathOf("tls"));
    expect(await agent.pass(desiredServer(leaves.leaf, { trustStoreType: "haproxy_tls", config: { ...config, keyFileName: "tls.key" } }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("config.keyFileName must be tls.pem.key, where HAProxy looks"),
    });
    expect(stateOf(agent.pathOf("tls"))).toEqual(before);
    await end();
  });

  test("a signal to reload that HAProxy dropped is sent again, until the new leaf is served", async () => {
    const { agent, server, config, end } = await begin();
    const dropped = agent.pathOf("dropped");
    const reloadCommand = ["sh", "-c", '[ -e "$0" ] || exec touch "$0"; exec "$@"', dropped, ...server.reloadCommand];
    const item = desiredServer(leaves.leaf, { trustStoreType: "haproxy_tls", config: { ...config, reloadCommand } });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect((await presentedAt(server.port))[0]).toBe(leaves.leaf.fingerprint);
    await end();
  });

  test("the default reload comes after a check of the configuration, and only then", async () => {
    const { agent, server, config, end } = await begin();
    const { reloadCommand: _, ...byDefault } = config;
    const check = `exec /usr/sbin/haproxy -c -f ${server.config}`;
    const host = withPrograms(agent, { systemctl: `exec kill -USR2 ${server.pid}`, haproxy: check });
    const item = desiredServer(leaves.leaf, { trustStoreType: "haproxy_tls", config: byDefault });
    expect(await agent.pass(item, { host })).toMatchObject({ state: "installed" });
    await until(async () => expect((await presentedAt(server.port))[0]).toBe(leaves.leaf.fingerprint));
    const calls = () => readFileSync(agent.pathOf("calls"), "utf8").trim().split("\n");
    expect([...new Set(calls())]).toEqual(["haproxy -c -f /etc/haproxy/haproxy.cfg", "systemctl reload haproxy"]);
    const before = stateOf(agent.pathOf("tls"));
    writeFileSync(server.config, `${readFileSync(server.config, "utf8")}  nonsense here\n`);
    const { next } = leaves;
    expect(
      await agent.pass(desiredServer(next, { ...item, version: 2, pem: next.pem, fingerprintSha256: next.fingerprint, privateKeyPem: next.privateKeyPem }), {
        host,
      }),
    ).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/^haproxy ended with exit code 1: .*Rolled back/),
    });
    expect(stateOf(agent.pathOf("tls"))).toEqual(before);
    expect(calls().at(-1)).toStartWith("haproxy -c ");
    await end();
  });
});
