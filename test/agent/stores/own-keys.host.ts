import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { presented, privateKeyIn } from "#agent/host/pem";
import { isKeyOf } from "#agent/host/private-key";
import type { Desired } from "#agent/server-client";
import { newAgentHost } from "../../support/agent/agent-host";
import { stateOf, until } from "../../support/agent/observing";
import { issueFor, keyRequest } from "../../support/agent/own-keys";
import { type Leaves, newLeaves } from "../../support/agent/server-behaviour";
import { newJava } from "../../support/pki/java";
import { configOf, keystoreOf, newHost } from "../../support/pki/keystores";
import { startPreset } from "../../support/pki/presets/server";
import { APACHE } from "../../support/pki/presets/web";
import type { AgentHost } from "../../support/pki/tls-clients";
import {
  endServers,
  freePort,
  newCluster,
  presentedAt,
  startHaproxy,
  startNginx,
  startPostgres,
  type TlsServer,
  writePair,
} from "../../support/pki/tls-servers";

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

type Server = {
  trustStoreType: Desired["trustStoreType"];
  start: (agent: AgentHost) => Promise<Pick<TlsServer, "port" | "reloadCommand"> & { stop: () => Promise<unknown> }>;
  keyFile: string;
  asking?: string[];
  config?: Desired["config"];
};

const bootstrapIn = (agent: AgentHost, certificate: string, key: string) =>
  writePair(agent.pathOf("tls", certificate), agent.pathOf("tls", key), leaves.bootstrap);

const SERVERS: Server[] = [
  {
    trustStoreType: "nginx_tls",
    keyFile: "tls.key",
    async start(agent) {
      mkdirSync(agent.pathOf("tls"));
      bootstrapIn(agent, "tls.crt", "tls.key");
      return startNginx(agent.directory);
    },
  },
  {
    // It reads every file of the directory but those that begin with a dot.
    trustStoreType: "haproxy_tls",
    keyFile: "tls.pem",
    async start(agent) {
      mkdirSync(agent.pathOf("tls"));
      const { pem, chain, privateKeyPem } = leaves.bootstrap;
      writeFileSync(agent.pathOf("tls/tls.pem"), presented(pem, chain).join("") + privateKeyPem, { mode: 0o640 });
      return startHaproxy(agent.directory, agent.pathOf("tls"));
    },
  },
  {
    trustStoreType: "postgresql_server_tls",
    keyFile: "server.key",
    asking: ["-starttls", "postgres"],
    start: async (agent) => startPostgres(agent.directory, cluster.data, () => bootstrapIn(agent, "server.crt", "server.key")),
  },
  {
    trustStoreType: "pem_files",
    keyFile: "tls.key",
    config: { preset: APACHE.preset },
    async start(agent) {
      mkdirSync(agent.pathOf("tls"));
      bootstrapIn(agent, "tls.crt", "tls.key");
      const [directory, port] = [agent.pathOf("apache"), await freePort()];
      mkdirSync(directory);
      const server = await startPreset(APACHE, { directory, tls: agent.pathOf("tls"), port, spare: port });
      return { port, reloadCommand: server.reload, stop: server.stop };
    },
  },
];

describe.each(SERVERS)("$trustStoreType with a key of the host's own", ({ trustStoreType, start, keyFile, asking = [], config: given }) => {
  test("serves the first certificate with it, then the renewed one with a new key; what was there before comes back", async () => {
    const agent = await newAgentHost();
    chmodSync(agent.directory, 0o711);
    const server = await start(agent);
    const directory = agent.pathOf("tls");
    const presents = (fingerprint: string) => until(async () => expect((await presentedAt(server.port, ...asking))[0]).toBe(fingerprint));
    await presents(leaves.bootstrap.fingerprint);
    const own = (name: string) => [keyFile, "tls.crt", "server.crt"].includes(name) || name.startsWith(".");
    const before = stateOf(directory, own);
    const { uid, gid } = lstatSync(join(directory, keyFile));
    const config = { trustStorePath: directory, reloadCommand: server.reloadCommand, verifyEndpoint: `tls://127.0.0.1:${server.port}`, ...given };
    const id = crypto.randomUUID();
    let former = "";
    let last: Desired | undefined;
    for (const version of [1, 2]) {
      const request = keyRequest({ id, trustStoreType, config });
      const item = await issueFor(agent, leaves.authority, request, { version });
      const waiting = join(directory, `.certitude-${request.requestId}.pending`);
      const { mode, ...owner } = lstatSync(waiting);
      expect({ uid: owner.uid, gid: owner.gid, open: mode & 0o037 }).toEqual({ uid, gid, open: 0 });
      await presents(former || leaves.bootstrap.fingerprint);
      expect(await agent.pass(item)).toEqual({ state: "installed", observedFingerprint: item.fingerprintSha256 });
      await presents(item.fingerprintSha256);
      await agent.answer([], { items: [item] });
      expect(existsSync(waiting)).toBe(false);
      expect(isKeyOf(item.pem, privateKeyIn(readFileSync(join(directory, keyFile), "utf8")) ?? "")).toBe(true);
      expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      former = item.fingerprintSha256;
      last = item;
    }
    expect(last && (await agent.withdraw(last))).toEqual({ state: "removed" });
    expect(stateOf(directory, own)).toEqual(before);
    await presents(leaves.bootstrap.fingerprint);
    await server.stop();
    agent.remove();
  });

  test("failed and rolled back: the server goes on with the former key, and the new one waits", async () => {
    const agent = await newAgentHost();
    chmodSync(agent.directory, 0o711);
    const server = await start(agent);
    const directory = agent.pathOf("tls");
    const own = (name: string) => [keyFile, "tls.crt", "server.crt"].includes(name) || name.startsWith(".");
    const request = keyRequest({ trustStoreType, config: { trustStorePath: directory, reloadCommand: ["false"], ...given } });
    const item = await issueFor(agent, leaves.authority, request);
    const before = stateOf(directory, own);
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back") });
    await agent.answer([], { items: [item] });
    expect(stateOf(directory, own)).toEqual(before);
    await until(async () => expect((await presentedAt(server.port, ...asking))[0]).toBe(leaves.bootstrap.fingerprint));
    await server.stop();
    agent.remove();
  });
});

describe("java_keystore_pkcs12 with a key of the host's own", () => {
  test("a server in Java presents the first certificate with it, then the renewed one with a new key", async () => {
    const java = await newJava();
    const agent = await newHost();
    const request = () => keyRequest({ id, trustStoreType: "java_keystore_pkcs12", config: configOf(agent) });
    const id = crypto.randomUUID();
    for (const version of [1, 2]) {
      const asked = request();
      const item = await issueFor(agent, leaves.authority, asked, { version });
      expect(lstatSync(agent.pathOf(`state/keys/${asked.requestId}.pem`)).mode & 0o777).toBe(0o600);
      expect(await agent.pass(item)).toEqual({ state: "installed", observedFingerprint: item.fingerprintSha256 });
      await agent.answer([], { items: [item] });
      expect(readdirSync(agent.pathOf("state/keys"))).toEqual([]);
      expect(await agent.pass(item)).toMatchObject({ state: "installed" });
      const peer = await java.serve(keystoreOf(agent));
      expect((await presentedAt(peer.port))[0]).toBe(item.fingerprintSha256);
      await peer.stop();
    }
    const moved = { ...(await issueFor(agent, leaves.authority, request(), { version: 3 })), config: configOf(agent) };
    await agent.pass(moved);
    await agent.answer([], { items: [moved] });
    const elsewhere = { ...moved, version: 4, config: configOf(agent, { trustStorePath: agent.pathOf("app/other.store") }) };
    expect(await agent.pass(elsewhere)).toMatchObject({ state: "failed", message: expect.stringContaining("Renew the certificate: that makes a new key") });
    expect(existsSync(dirname(keystoreOf(agent).path))).toBe(true);
    const peer = await java.serve(keystoreOf(agent));
    expect((await presentedAt(peer.port))[0]).toBe(moved.fingerprintSha256);
    await peer.stop();
    agent.remove();
    java.remove();
  });
});
