import { expect, test } from "bun:test";
import { chmodSync, chownSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { type Issued, newAuthority } from "../pki/authority";
import type { AgentHost } from "../pki/tls-clients";
import { presentedAt, type TlsServer } from "../pki/tls-servers";
import { desired, desiredServer, newAgentHost } from "./agent-host";
import { stateOf, until } from "./observing";

export type Leaves = Awaited<ReturnType<typeof newLeaves>>;

/** An authority, the certificate with which a server has started, and two that the agent brings. */
export async function newLeaves() {
  const authority = await newAuthority();
  const [bootstrap, leaf, next] = await Promise.all([
    authority.issueServer("boot.test"),
    authority.issueServer("good.test"),
    authority.issueServer("next.test"),
  ]);
  return { authority, bootstrap, leaf, next };
}

export type ServerBehaviour = {
  storeType: TrustStoreType;
  /** Puts the bootstrap certificate into the directory `tls` and starts the server with it. */
  start: (agent: AgentHost, bootstrap: Issued) => Promise<TlsServer>;
  /** How openssl asks it for TLS. */
  asking?: string[];
  certificateFile: string;
  keyFile: string;
  config?: Desired["config"];
  /** True when any directory will do, which the agent makes, and a bundle of all anchors. */
  isAnyPlace?: boolean;
};

/** Tests the behaviour of every server's store, proven by the server itself. */
export function testServer(
  { storeType, start, asking = [], certificateFile, keyFile, config: given = {}, isAnyPlace = false }: ServerBehaviour,
  leaves: () => Leaves,
) {
  async function begin() {
    const agent = await newAgentHost();
    chmodSync(agent.directory, 0o711);
    const server = await start(agent, leaves().bootstrap);
    const directory = agent.pathOf("tls");
    const verified = { verifyEndpoint: `tls://127.0.0.1:${server.port}` };
    /** A process that still ends may answer for a moment. */
    const presents = (issued: Issued) => until(async () => expect(await presentedAt(server.port, ...asking)).toEqual(presentation(issued)));
    await presents(leaves().bootstrap); // a server may listen before it has read its files
    return {
      agent,
      server,
      files: () => stateOf(directory, (name) => name === certificateFile || name === keyFile || name.endsWith(".certitude-tmp")),
      pathOf: (name: string) => join(directory, name),
      itemOf: (issued: Issued, config: Desired["config"] = {}, rest: Partial<Desired> = {}) =>
        desiredServer(issued, {
          trustStoreType: storeType,
          config: { trustStorePath: directory, reloadCommand: server.reloadCommand, ...verified, ...given, ...config },
          ...rest,
        }),
      presents,
      async end() {
        await server.stop();
        agent.remove();
      },
    };
  }
  const presentation = (issued: Issued) => [issued.fingerprint, leaves().authority.intermediate.fingerprint];
  const installed = ({ fingerprint }: Issued) => ({ state: "installed" as const, observedFingerprint: fingerprint });

  test("the server presents what is assigned, what takes its place, and what it had before once the assignment is gone", async () => {
    const { leaf, next, bootstrap } = leaves();
    const { agent, files, itemOf, presents, end } = await begin();
    const before = files();
    await presents(bootstrap);
    const item = itemOf(leaf);
    expect(await agent.pass(item)).toEqual(installed(leaf));
    await presents(leaf);
    const after = files();
    expect(await agent.pass(item)).toEqual(installed(leaf));
    expect(files()).toEqual(after);
    expect(await agent.pass(itemOf(next, {}, { id: item.id, version: 2 }))).toEqual(installed(next));
    await presents(next);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(files()).toEqual(before);
    await presents(bootstrap);
    await end();
  });

  test("drifted and healed: the certificate is gone, the key is another one or open to others", async () => {
    const { leaf, next } = leaves();
    const { agent, itemOf, pathOf, presents, end } = await begin();
    const item = itemOf(leaf);
    await agent.pass(item);
    for (const spoil of [
      () => rmSync(pathOf(certificateFile)),
      () => writeFileSync(pathOf(keyFile), next.privateKeyPem),
      () => chmodSync(pathOf(keyFile), 0o644),
    ]) {
      spoil();
      expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("Found and healed:") });
      expect(lstatSync(pathOf(keyFile)).mode & 0o777).toBe(0o600);
      await presents(leaf);
    }
    await end();
  });

  test("failed and rolled back to the byte, mode and owner: a reload that fails, one after which the server presents another leaf", async () => {
    const { leaf, bootstrap } = leaves();
    const { agent, files, itemOf, pathOf, presents, end } = await begin();
    const { uid, gid } = lstatSync(pathOf(keyFile));
    chmodSync(pathOf(certificateFile), 0o640);
    chownSync(pathOf(certificateFile), uid, gid + 1);
    const before = files();
    const impatient = { ...agent.host, patience: { ...agent.host.patience, reload: 500 } };
    for (const [config, words] of [
      [{ reloadCommand: ["false"] }, /^false ended with exit code 1.*Rolled back/],
      [{ reloadCommand: ["true"] }, new RegExp(`presents the certificate ${bootstrap.fingerprint}, not ${leaf.fingerprint}.*Rolled back`)],
    ] satisfies [Desired["config"], RegExp][]) {
      expect(await agent.pass(itemOf(leaf, config), { host: impatient })).toMatchObject({ state: "failed", message: expect.stringMatching(words) });
      expect(files()).toEqual(before);
      await presents(bootstrap);
    }
    await end();
  });

  test("without the private key only the certificate changes, and only one that fits the key that lies there", async () => {
    const { leaf, bootstrap } = leaves();
    const { agent, files, itemOf, presents, end } = await begin();
    const before = files();
    const withoutKey = { includePrivateKey: false, privateKeyPem: null };
    expect(await agent.pass(itemOf(leaf, {}, withoutKey))).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/has the private key of another certificate. Include the private key/),
    });
    expect(files()).toEqual(before);
    expect(await agent.pass(itemOf(bootstrap, {}, withoutKey))).toEqual(installed(bootstrap));
    expect(files()[keyFile]).toBe(before[keyFile] ?? "");
    await presents(bootstrap);
    await end();
  });

  test("what the operator had is given back though it is the same, and what the operator has put there since stays", async () => {
    const { leaf, bootstrap } = leaves();
    const { agent, files, itemOf, pathOf, presents, end } = await begin();
    const stays = { state: "kept" as const, message: "Another owner, or another assignment, has put it there too, and that stays: the store holds it." };
    chmodSync(pathOf(keyFile), 0o640);
    const before = files();
    const same = itemOf(bootstrap);
    expect(await agent.pass(same)).toEqual(installed(bootstrap));
    expect(lstatSync(pathOf(keyFile)).mode & 0o777).toBe(0o600);
    expect(await agent.withdraw(same)).toEqual(stays);
    expect(files()).toEqual(before);
    const item = itemOf(leaf);
    await agent.pass(item);
    writeFileSync(pathOf(certificateFile), `The operator's own copy\n${readFileSync(pathOf(certificateFile), "utf8")}`);
    const since = files();
    expect(await agent.pass(item)).toEqual(installed(leaf));
    expect(await agent.withdraw(item)).toEqual(stays);
    expect(files()).toEqual(since);
    await presents(leaf);
    await end();
  });

  if (isAnyPlace) return;

  test("failed: a directory that does not exist, a tool that is not there; nothing is left", async () => {
    const { leaf } = leaves();
    const { agent, files, itemOf, end } = await begin();
    const before = files();
    expect(await agent.pass(itemOf(leaf, { trustStorePath: agent.pathOf("elsewhere") }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("does not exist on this host. Create it"),
    });
    const bare = { ...agent.host, environment: { PATH: agent.pathOf("home") } };
    expect(await agent.pass(itemOf(leaf), { host: bare })).toMatchObject({
      state: "failed",
      message: expect.stringContaining("is not installed on this host"),
    });
    expect(files()).toEqual(before);
    await end();
  });

  test("a trust anchor lies under its alias, and never in the place of another's file", async () => {
    const { authority, next } = leaves();
    const { agent, server, pathOf, end } = await begin();
    const anchor = (alias: string) =>
      desired(authority.root, { trustStoreType: storeType, config: { trustStorePath: agent.pathOf("tls"), alias, reloadCommand: server.reloadCommand } });
    writeFileSync(pathOf("foreign.crt"), next.pem);
    expect(await agent.pass(anchor("foreign"))).toMatchObject({ state: "failed", message: expect.stringContaining("is there already, and not by this agent") });
    expect(readFileSync(pathOf("foreign.crt"), "utf8")).toBe(next.pem);
    const item = anchor("clients");
    expect(await agent.pass(item)).toEqual(installed({ ...next, ...authority.root }));
    expect(readFileSync(pathOf("clients.crt"), "utf8")).toBe(authority.root.pem);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(readdirSync(agent.pathOf("tls"))).not.toContain("clients.crt");
    await end();
  });
}
