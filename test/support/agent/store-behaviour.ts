import { expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Desired } from "#agent/server-client";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { newAuthority, serveTls } from "../pki/authority";
import { type AgentHost, contentOf } from "../pki/tls-clients";
import { desired, newAgentHost, withScratchSystem } from "./agent-host";

/** Two authorities, and a server of each: what the agent installs, and what was trusted before. */
export async function newParties() {
  const [authority, known] = await Promise.all([newAuthority(), newAuthority()]);
  const [server, knownServer] = await Promise.all([authority.issueServer("good.test").then(serveTls), known.issueServer("known.test").then(serveTls)]);
  async function end() {
    await Promise.all([server.stop(), knownServer.stop()]);
    authority.remove();
    known.remove();
  }
  return { authority, known, server, knownServer, end };
}
export type Parties = Awaited<ReturnType<typeof newParties>>;

/** A scratch host whose public root is the known authority's. */
export async function newKnowingHost({ known }: Parties) {
  const agent = await newAgentHost((host, directory) => {
    const scratch = withScratchSystem(host, directory);
    put(join(directory, "mozilla/public.crt"), known.root.pem);
    return scratch;
  });
  writeFileSync(agent.host.system.bundle, known.root.pem);
  return agent;
}

export type Behaviour = {
  storeType: TrustStoreType;
  begin?: () => Promise<AgentHost>;
  config: (agent: AgentHost) => Desired["config"];
  /** Writes the entries of others, before the agent comes. */
  prepare?: (agent: AgentHost) => unknown;
  /** Returns whether the real program accepts the server. */
  isTrusting: (agent: AgentHost, url: string) => Promise<boolean>;
  /** True when the program keeps trusting the public roots. */
  keepsRoots: boolean;
  /** Returns the files that others may remove or overwrite. */
  spoil: (agent: AgentHost) => string[];
  /** Another place, and whether it takes the place of the first. */
  elsewhere: (agent: AgentHost) => Desired["config"];
  isElsewhere: (agent: AgentHost) => boolean;
};

/** Tests the behaviour of every store of this family, proven by the program that reads it. */
export function testBehaviour(name: string, parties: () => Parties, conduct: Behaviour) {
  const itemOf = (agent: AgentHost, more: Partial<Desired> = {}) =>
    desired(parties().authority.root, { trustStoreType: conduct.storeType, config: conduct.config(agent), ...more });
  const installed = () => ({ state: "installed" as const, observedFingerprint: parties().authority.root.fingerprint });

  async function begin() {
    const agent = await (conduct.begin?.() ?? newKnowingHost(parties()));
    await conduct.prepare?.(agent);
    return { agent, before: contentOf(agent), isTrusting: () => conduct.isTrusting(agent, parties().server.url) };
  }

  test(`${name}: refused, installed and trusted, left alone, removed and refused`, async () => {
    const { agent, before, isTrusting } = await begin();
    expect(await isTrusting()).toBe(false);
    const item = itemOf(agent);
    expect(await agent.pass(item)).toEqual(installed());
    expect(await isTrusting()).toBe(true);
    if (conduct.keepsRoots) expect(await conduct.isTrusting(agent, parties().knownServer.url)).toBe(true);
    const after = contentOf(agent);
    expect(await agent.pass(item)).toEqual(installed());
    expect(contentOf(agent)).toEqual(after);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    expect(await isTrusting()).toBe(false);
    agent.remove();
  });

  test(`${name}: drifted and healed`, async () => {
    const { agent, isTrusting } = await begin();
    const item = itemOf(agent);
    await agent.pass(item);
    const after = contentOf(agent);
    for (const path of conduct.spoil(agent))
      for (const each of [() => rmSync(path), () => writeFileSync(path, "# nothing\n")]) {
        each();
        expect(await agent.pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("Found and healed:") });
        expect(await isTrusting()).toBe(true);
        expect(await agent.pass(item)).toEqual(installed());
        writeFileSync(path, Buffer.from(after[path.slice(agent.directory.length + 1)]?.split(" ")[1] ?? "", "base64"));
      }
    agent.remove();
  });

  test(`${name}: failed and rolled back to the byte: a reload that fails, a server that it does not make trusted`, async () => {
    const { agent, before, isTrusting } = await begin();
    const { config } = itemOf(agent);
    for (const more of [{ reloadCommand: ["false"] }, { verifyEndpoint: parties().knownServer.url, verifyServerName: "known.test" }]) {
      const item = itemOf(agent, { config: { ...config, ...more } });
      expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back") });
      expect(contentOf(agent)).toEqual(before);
      expect(await isTrusting()).toBe(false);
    }
    const good = itemOf(agent, { config: { ...config, verifyEndpoint: parties().server.url, verifyServerName: "good.test", reloadCommand: ["true"] } });
    expect(await agent.pass(good)).toEqual(installed());
    agent.remove();
  });

  test(`${name}: another place takes the place of the first`, async () => {
    const { agent, before, isTrusting } = await begin();
    const item = itemOf(agent);
    await agent.pass(item);
    const moved = { ...item, version: 2, config: conduct.elsewhere(agent) };
    expect(await agent.pass(moved)).toEqual(installed());
    expect(conduct.isElsewhere(agent)).toBe(true);
    await agent.withdraw(item);
    expect(contentOf(agent)).toEqual(before);
    expect(await isTrusting()).toBe(false);
    agent.remove();
  });
}

/** Writes a file, with the directory for it. */
export function put(path: string, text: string) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
