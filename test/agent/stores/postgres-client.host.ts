import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { desired, desiredServer, newAgentHost, withScratchSystem } from "../../support/agent/agent-host";
import { newLeaves } from "../../support/agent/server-behaviour";
import { accountOf } from "../../support/pki/presets/server";
import { type AgentHost, runs } from "../../support/pki/tls-clients";
import { DATABASE_USER, endServers, newCluster, startPostgres, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

/** A Postgres that demands a client's certificate of the role `asking`. */
let server: Awaited<ReturnType<typeof startPostgres>>;
let leaves: Awaited<ReturnType<typeof newLeaves>>;
let place: AgentHost;
beforeAll(async () => {
  let cluster: Awaited<ReturnType<typeof newCluster>>;
  [leaves, cluster, place] = await Promise.all([newLeaves(), newCluster(), newAgentHost()]);
  chmodSync(place.directory, 0o711);
  server = await startPostgres(place.directory, cluster.data, (data) => {
    writePair(join(data, "server.crt"), join(data, "server.key"), leaves.bootstrap);
    writeFileSync(join(data, "clients.crt"), leaves.authority.root.pem);
    chownSync(join(data, "clients.crt"), DATABASE_USER.uid, DATABASE_USER.gid);
    appendFileSync(join(data, "postgresql.conf"), "ssl_ca_file = 'clients.crt'\n");
    writeFileSync(join(data, "pg_hba.conf"), "hostssl all asking 127.0.0.1/32 trust clientcert=verify-ca\nhost all postgres 127.0.0.1/32 trust\n");
  });
  cluster.remove();
  const created = await runs(["psql", "-X", `host=127.0.0.1 port=${server.port} user=postgres dbname=postgres`, "-c", "CREATE ROLE asking LOGIN"]);
  expect(created.isGood).toBe(true);
});
afterAll(async () => {
  await server.stop();
  endServers();
  leaves.authority.remove();
  place.remove();
});

/** What psql says to a connection by its own defaults: "" where it connects. */
async function psql({ host }: AgentHost, user: string, more = "") {
  const connection = `host=127.0.0.1 port=${server.port} user=${user} dbname=postgres sslmode=verify-full ${more}`;
  const { isGood, stderr } = await runs(["psql", "-X", "-w", connection, "-c", "SELECT 1"], { HOME: host.home });
  return isGood ? "" : stderr;
}
const anchor = (config = {}) => desired(leaves.authority.root, { trustStoreType: "postgresql_client_tls", config });
const client = (config = {}) =>
  desiredServer(leaves.leaf, {
    trustStoreType: "postgresql_client_tls",
    materialType: "client_certificate",
    config: { trustStorePath: "~/.postgresql", ...config },
  });

describe("postgresql_client_tls", () => {
  test("psql refuses the server before and trusts it after; drift is healed; what the user had comes back", async () => {
    const agent = await newAgentHost();
    const bundle = join(agent.host.home, ".postgresql/root.crt");
    const item = anchor();
    expect(await psql(agent, "postgres")).toMatch(/root certificate file .* does not exist/);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await psql(agent, "postgres")).toBe("");
    for (const spoil of [() => rmSync(bundle), () => writeFileSync(bundle, "# nothing\n")]) {
      spoil();
      expect(await psql(agent, "postgres")).not.toBe("");
      expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
      expect(await psql(agent, "postgres")).toBe("");
    }
    rmSync(bundle);
    await agent.pass(item);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(existsSync(join(agent.host.home, ".postgresql"))).toBe(false);
    mkdirSync(join(agent.host.home, ".postgresql"));
    writeFileSync(bundle, leaves.authority.intermediate.pem);
    expect(await psql(agent, "postgres")).toMatch(/certificate verify failed/);
    await agent.pass(item);
    expect(await psql(agent, "postgres")).toBe("");
    await agent.withdraw(item);
    expect(readFileSync(bundle, "utf8")).toBe(leaves.authority.intermediate.pem);
    agent.remove();
  });

  test("the server accepts the client's certificate, whose key psql takes from nobody else; without its key it is refused", async () => {
    const item = client();
    const agent = await newAgentHost();
    await agent.pass(anchor());
    expect(await psql(agent, "asking")).toMatch(/connection requires a valid client certificate/);
    expect(await agent.pass({ ...item, includePrivateKey: false, privateKeyPem: null })).toMatchObject({
      state: "failed",
      message: expect.stringContaining("postgresql.key has no private key"),
    });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    const key = join(agent.host.home, ".postgresql/postgresql.key");
    chmodSync(key, 0o644);
    expect(await psql(agent, "asking")).toMatch(/private key file .* has group or world access/);
    expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
    expect(await psql(agent, "asking")).toBe("");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await psql(agent, "asking")).toMatch(/connection requires a valid client certificate/);
    expect(agent.files()).toEqual(["home/.postgresql/root.crt"]);
    agent.remove();
  });

  test("an account's directory and files belong to it", async () => {
    const agent = await newAgentHost();
    const nobody = accountOf("nobody");
    const home = agent.pathOf("nobody");
    chmodSync(agent.directory, 0o711);
    mkdirSync(home);
    chownSync(home, nobody.uid, nobody.gid);
    const config = { dbUser: "nobody", trustStorePath: join(home, ".postgresql") };
    const items = [anchor(config), client(config)];
    for (const each of items) expect(await agent.pass(each)).toMatchObject({ state: "installed" });
    for (const name of [".postgresql", ".postgresql/root.crt", ".postgresql/postgresql.crt", ".postgresql/postgresql.key"])
      expect([name, lstatSync(join(home, name)).uid, lstatSync(join(home, name)).gid]).toEqual([name, nobody.uid, nobody.gid]);
    expect(lstatSync(join(home, ".postgresql/postgresql.key")).mode & 0o777).toBe(0o600);
    for (const each of items) expect(await agent.withdraw(each)).toEqual({ state: "removed" });
    expect(existsSync(join(home, ".postgresql"))).toBe(false);
    agent.remove();
  });

  test("with preferOsStore the anchor is in the system's store, which psql reads where it is set so", async () => {
    const agent = await newAgentHost(withScratchSystem);
    const item = anchor({ preferOsStore: true });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await psql(agent, "postgres", `sslrootcert=${agent.host.system.bundle}`)).toBe("");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await psql(agent, "postgres", `sslrootcert=${agent.host.system.bundle}`)).not.toBe("");
    agent.remove();
  });
});
