import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, lstatSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { stateOf, until } from "../../support/agent/observing";
import { type Leaves, newLeaves, testServer } from "../../support/agent/server-behaviour";
import type { AgentHost } from "../../support/pki/tls-clients";
import { DATABASE_USER, endServers, newCluster, presentedAt, startPostgres, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

let leaves: Leaves;
let cluster: Awaited<ReturnType<typeof newCluster>>;
beforeAll(async () => {
  [leaves, cluster] = await Promise.all([newLeaves(), newCluster()]);
});
afterAll(() => {
  endServers();
  leaves.authority.remove();
  cluster.remove();
});

const ASKING = ["-starttls", "postgres"];

function start(agent: AgentHost) {
  chmodSync(agent.directory, 0o711);
  return startPostgres(agent.directory, cluster.data, (data) => writePair(join(data, "server.crt"), join(data, "server.key"), leaves.bootstrap));
}

async function begin() {
  const agent = await newAgentHost();
  const server = await start(agent);
  const data = agent.pathOf("tls");
  async function end() {
    await server.stop();
    agent.remove();
  }
  return {
    agent,
    server,
    config: { trustStorePath: data, verifyEndpoint: `tls://127.0.0.1:${server.port}` },
    itemOf: (config: Parameters<typeof desiredServer>[1]["config"]) =>
      desiredServer(leaves.leaf, { trustStoreType: "postgresql_server_tls", config: config ?? {} }),
    presented: async () => (await presentedAt(server.port, ...ASKING))[0],
    files: () => stateOfPair(data),
    end,
  };
}

const stateOfPair = (data: string) => stateOf(data, (name) => /^server\.|certitude-tmp$/.test(name));

describe("postgresql_server_tls", () => {
  testServer(
    { storeType: "postgresql_server_tls", certificateFile: "server.crt", keyFile: "server.key", asking: ASKING, start: (agent) => start(agent) },
    () => leaves,
  );

  test("without a reloadCommand pg_ctl reloads, as the account to which server and key belong", async () => {
    const { agent, config, itemOf, presented, files, end } = await begin();
    const before = files();
    const item = itemOf(config);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await presented()).toBe(leaves.leaf.fingerprint);
    const { uid, gid, mode } = lstatSync(agent.pathOf("tls/server.key"));
    expect({ uid, gid, mode: mode & 0o777 }).toEqual({ ...DATABASE_USER, mode: 0o600 });
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(files()).toEqual(before);
    await until(async () => expect(await presented()).toBe(leaves.bootstrap.fingerprint));
    await end();
  });

  test("with a dbUser psql reloads, with the password where the server wants one", async () => {
    const { agent, server, config, itemOf, presented, files, end } = await begin();
    const socket = { path: join(agent.pathOf("sockets"), `.s.PGSQL.${server.port}`), database: "postgres" };
    const sql = new SQL({ adapter: "postgres", ...socket, username: "postgres", max: 1 });
    await sql.unsafe("CREATE ROLE reloader LOGIN PASSWORD 'open sesame'; GRANT EXECUTE ON FUNCTION pg_reload_conf() TO reloader");
    writeFileSync(agent.pathOf("tls/pg_hba.conf"), "local all postgres trust\nlocal all reloader scram-sha-256\n");
    await sql`SELECT pg_reload_conf()`;
    await sql.end();
    const withUser = { ...config, dbUser: "reloader" };
    const before = files();
    expect(await agent.pass(itemOf(withUser))).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/^psql ended with exit code 2: .*no password supplied.*Rolled back/),
    });
    expect(files()).toEqual(before);
    const environment = { ...agent.host.environment, DATABASE_PASSWORD: "open sesame" };
    const item = itemOf({ ...withUser, storePasswordRef: "env:DATABASE_PASSWORD" });
    expect(await agent.pass(item, { host: { ...agent.host, environment } })).toMatchObject({ state: "installed" });
    expect(await presented()).toBe(leaves.leaf.fingerprint);
    expect(JSON.stringify([...agent.state.records])).not.toContain("open sesame");
    await end();
  });

  test("failed: nobody said how Postgres is to reload", async () => {
    const agent = await newAgentHost();
    expect(
      await agent.pass(desiredServer(leaves.leaf, { trustStoreType: "postgresql_server_tls", config: { trustStorePath: agent.pathOf("home") } })),
    ).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/is not its data directory. Set config.dbUser or config.reloadCommand/),
    });
    expect(readdirSync(agent.pathOf("home"))).toEqual([]);
    agent.remove();
  });

  test("failed and rolled back: a key that Postgres does not read, as only its endpoint shows", async () => {
    const { agent, config, itemOf, presented, files, end } = await begin();
    const before = files();
    const host = { ...agent.host, patience: { ...agent.host.patience, reload: 500 } };
    expect(await agent.pass(itemOf({ ...config, keyPermissionMode: "0644" }), { host })).toMatchObject({
      state: "failed",
      message: expect.stringMatching(new RegExp(`presents the certificate ${leaves.bootstrap.fingerprint}.*Rolled back`)),
    });
    expect(files()).toEqual(before);
    expect(await presented()).toBe(leaves.bootstrap.fingerprint);
    await end();
  });

  test("failed and rolled back: a server that is not running", async () => {
    const { agent, server, config, itemOf, files, end } = await begin();
    const before = files();
    await server.stop();
    expect(await agent.pass(itemOf(config))).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/pg_ctl ended with exit code 1: .*Is server running.*Rolled back/),
    });
    expect(files()).toEqual(before);
    await end();
  });
});
