import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { desired, desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { stateOf, until, withPrograms } from "../../support/agent/observing";
import { newLeaves, testServer } from "../../support/agent/server-behaviour";
import { type Issued, newAuthority } from "../../support/pki/authority";
import { type AgentHost, runs } from "../../support/pki/tls-clients";
import { endServers, presentedAt, startNginx, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const leaves = await newLeaves();
afterAll(() => {
  endServers();
  leaves.authority.remove();
});

function start(agent: AgentHost) {
  mkdirSync(agent.pathOf("tls"));
  writePair(agent.pathOf("tls/tls.crt"), agent.pathOf("tls/tls.key"), leaves.bootstrap);
  return startNginx(agent.directory);
}

/** nginx with its bootstrap certificate, and what one does with it. */
async function begin() {
  const agent = await newAgentHost();
  const server = await start(agent);
  const config = { trustStorePath: agent.pathOf("tls"), reloadCommand: server.reloadCommand };
  const configure = (alter: (text: string) => string) => writeFileSync(server.config, alter(readFileSync(server.config, "utf8")));
  async function end() {
    await server.stop();
    agent.remove();
  }
  const presents = (issued: Issued) => until(async () => expect((await presentedAt(server.port))[0]).toBe(issued.fingerprint));
  return { agent, server, config, configure, presents, end };
}

describe("nginx_tls", () => {
  testServer({ storeType: "nginx_tls", certificateFile: "tls.crt", keyFile: "tls.key", start }, () => leaves);

  test("by default nginx checks its configuration, and reloads", async () => {
    const { agent, config, presents, end } = await begin();
    const { reloadCommand, ...byDefault } = config;
    const host = withPrograms(agent, { nginx: `exec /usr/sbin/nginx ${reloadCommand.slice(1, -2).join(" ")} "$@"` });
    expect(await agent.pass(desiredServer(leaves.leaf, { trustStoreType: "nginx_tls", config: byDefault }), { host })).toMatchObject({ state: "installed" });
    expect(readFileSync(agent.pathOf("calls"), "utf8")).toBe("nginx -t\nnginx -s reload\n");
    await presents(leaves.leaf);
    await end();
  });

  test("failed before any reload: a configuration that nginx does not accept", async () => {
    const { agent, config, configure, presents, end } = await begin();
    configure((text) => text.replace("access_log off;", "access_log maybe what;"));
    const before = stateOf(agent.pathOf("tls"));
    expect(await agent.pass(desiredServer(leaves.leaf, { trustStoreType: "nginx_tls", config }))).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/^nginx ended with exit code 1: .*unknown log format "what".*Rolled back/),
    });
    expect(stateOf(agent.pathOf("tls"))).toEqual(before);
    await presents(leaves.bootstrap);
    await end();
  });

  test("failed: to take away what nginx cannot do without; once its configuration can, it goes", async () => {
    const { agent, server, config, configure, presents, end } = await begin();
    const item = desiredServer(leaves.leaf, { trustStoreType: "nginx_tls", config: { ...config, certFileName: "site.crt", keyFileName: "site.key" } });
    await agent.pass(item);
    configure((text) => text.replace("tls.crt", "site.crt").replace("tls.key", "site.key"));
    await runs(server.reloadCommand, { PATH: Bun.env.PATH ?? "" });
    await presents(leaves.leaf);
    const before = stateOf(agent.pathOf("tls"));
    expect(await agent.withdraw(item)).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/^nginx ended with exit code 1: .*site.crt.*test failed›\. Rolled back/),
    });
    expect(stateOf(agent.pathOf("tls"))).toEqual(before);
    await presents(leaves.leaf);
    configure((text) => text.replace("site.crt", "tls.crt").replace("site.key", "tls.key"));
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(Object.keys(stateOf(agent.pathOf("tls")))).toEqual(["tls.crt", "tls.key"]);
    await end();
  });

  test("nginx accepts the clients of the assigned anchor, and no others", async () => {
    const other = await newAuthority();
    const { agent, server, config, configure, end } = await begin();
    const item = desired(leaves.authority.root, { trustStoreType: "nginx_tls", config: { ...config, alias: "clients" } });
    await agent.pass(item);
    configure((text) =>
      text.replace("return 200", `ssl_client_certificate ${agent.pathOf("tls/clients.crt")}; ssl_verify_client on; ssl_verify_depth 2; return 200`),
    );
    await runs(server.reloadCommand, { PATH: Bun.env.PATH ?? "" });
    const clients = { ours: leaves.next, theirs: await other.issueServer("client.test") };
    for (const [name, issued] of Object.entries(clients)) writePair(agent.pathOf(`${name}.crt`), agent.pathOf(`${name}.key`), issued);
    async function isAccepted(name: keyof typeof clients) {
      const pair = ["--cert", agent.pathOf(`${name}.crt`), "--key", agent.pathOf(`${name}.key`)];
      return (await runs(["curl", "--silent", "--insecure", ...pair, `https://127.0.0.1:${server.port}/`])).stdout === "trusted";
    }
    await until(async () => expect([await isAccepted("ours"), await isAccepted("theirs")]).toEqual([true, false]));
    const { pem, fingerprint } = other.root;
    expect(await agent.pass({ ...item, version: 2, pem, fingerprintSha256: fingerprint })).toMatchObject({ state: "installed" });
    await until(async () => expect([await isAccepted("ours"), await isAccepted("theirs")]).toEqual([false, true]));
    other.remove();
    await end();
  });
});
