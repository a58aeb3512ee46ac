import { expect } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Desired } from "#agent/server-client";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { newAuthority } from "../pki/authority";
import { desired, desiredServer, newAgentHost } from "./agent-host";
import { serveRegistry, skopeoGets, startContainerd } from "./registry";

export type Registries = Awaited<ReturnType<typeof newRegistries>>;
export const TOOLS = ["docker_certs_d", "podman_certs_d", "containerd_certs_d"] as const satisfies TrustStoreType[];

/** A registry of an authority, another that is open only to clients of a second one, and the tools that read their directory. */
export async function newRegistries() {
  const [authority, other, { containerdGets, stop }] = await Promise.all([newAuthority(), newAuthority(), startContainerd()]);
  const [server, client] = await Promise.all([authority.issueServer("registry.test"), other.issueServer("client.test")]);
  const [registry, closed] = await Promise.all([serveRegistry(server), serveRegistry(server, other.root.pem)]);
  async function end() {
    await Promise.all([registry.stop(), closed.stop(), stop()]);
    authority.remove();
    other.remove();
  }
  return { authority, other, client, registry, closed, containerdGets, end };
}

/** A host whose directory for the registry is not there yet. */
export async function newRegistryHost({ authority, client, registry, closed, containerdGets }: Registries, trustStoreType: (typeof TOOLS)[number]) {
  const agent = await newAgentHost();
  const directory = agent.pathOf("certs.d/registry.test");
  const itemOf = (config: Desired["config"], rest: Partial<Desired> = {}) =>
    desired(authority.root, { trustStoreType, config: { trustStorePath: directory, ...config }, ...rest });
  const clientOf = (config: Desired["config"] = {}, rest: Partial<Desired> = {}) =>
    desiredServer(client, { trustStoreType, materialType: "client_certificate", config: { trustStorePath: directory, ...config }, ...rest });
  function put(name: string, text: string) {
    mkdirSync(directory, { recursive: true });
    writeFileSync(`${directory}/${name}`, text);
  }
  const read = (name: string) => readFileSync(`${directory}/${name}`, "utf8");
  const gets = (port: number) => (trustStoreType === "containerd_certs_d" ? containerdGets(dirname(directory), port) : skopeoGets(directory, port));
  return { agent, directory, itemOf, clientOf, put, read, isGotten: () => gets(registry.port), isGottenByClient: () => gets(closed.port) };
}

export const failed = (words: RegExp) => ({ state: "failed", message: expect.stringMatching(words) });
