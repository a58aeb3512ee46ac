import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { readNewAssignment } from "#modules/fleet/assignments/rules";
import { configRulesOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { desired, newAgentHost } from "../../support/agent/agent-host";
import { newAuthority } from "../../support/pki/authority";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
beforeAll(async () => {
  authority = await newAuthority();
});
afterAll(() => authority.remove());

const SERVERS = ["nginx_tls", "apache_httpd_tls", "haproxy_tls", "postgresql_server_tls", "mariadb_server_tls", "redis_server_tls"] as const;

describe.each(SERVERS)("%s", (trustStoreType) => {
  const certFileName = "server.crt";
  const nameOfServers = configRulesOf(trustStoreType).defaults.certFileName ?? certFileName;

  async function begin() {
    const agent = await newAgentHost();
    mkdirSync(agent.pathOf("tls"));
    const given = { trustStorePath: agent.pathOf("tls"), reloadCommand: ["true"], dbUser: "root" };
    const { required, optional } = configRulesOf(trustStoreType);
    const config = Object.fromEntries(Object.entries(given).filter(([field]) => [...required, ...optional].includes(field)));
    return { agent, config };
  }

  test("without a materialType, a server's own certificate is meant", async () => {
    const { agent, config } = await begin();
    expect(readNewAssignment({ applicationId: "web", certificateId: crypto.randomUUID(), trustStoreType, config })).toMatchObject({
      materialType: "server_certificate",
    });
    agent.remove();
  });

  test("an anchor never has the name of the server's own certificate", async () => {
    const { agent, config } = await begin();
    const item = desired(authority.root, { trustStoreType, config: { ...config, certFileName: String(nameOfServers) } });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    const names = readdirSync(agent.pathOf("tls"));
    expect(names).toEqual([`certitude-${item.id}.crt`]);
    expect(readFileSync(agent.pathOf("tls", names[0] ?? ""), "utf8")).toBe(authority.root.pem);
    agent.remove();
  });

  test("failed: a root as the server's own certificate, without its private key", async () => {
    const { agent, config } = await begin();
    const item = desired(authority.root, { trustStoreType, materialType: "server_certificate", config });
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringMatching(/has no private key/) });
    expect(readdirSync(agent.pathOf("tls"))).toEqual([]);
    agent.remove();
  });
});
