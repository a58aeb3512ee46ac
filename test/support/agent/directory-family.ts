import { expect } from "bun:test";
import type { Desired } from "#agent/server-client";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { newAuthority } from "../pki/authority";
import { desired, desiredServer } from "./agent-host";
import { stateOf } from "./observing";

export type Stock = Awaited<ReturnType<typeof newStock>>;

/** Two anchors, and two certificates of servers. */
export async function newStock() {
  const [authority, other] = await Promise.all([newAuthority(), newAuthority()]);
  const [leaf, next] = await Promise.all([authority.issueServer("good.test"), authority.issueServer("next.test")]);
  function remove() {
    authority.remove();
    other.remove();
  }
  return { authority, other, leaf, next, remove };
}

/** The stores that are a directory of files: the first file of each, and what else its config names. */
export const FAMILY: [store: TrustStoreType, file: string, material: "anchor" | "server" | "client", config?: Desired["config"]][] = [
  ["openssl_ca_dir", "corp.pem", "anchor"],
  ["nginx_tls", "tls.crt", "server"],
  ["pem_files", "tls.crt", "server"],
  ["haproxy_tls", "tls.pem", "server"],
  ["postgresql_server_tls", "server.crt", "server"],
  ["redis_server_tls", "redis.crt", "server"],
  ["docker_certs_d", "corp.crt", "anchor"],
  ["podman_certs_d", "client.cert", "client"],
  ["containerd_certs_d", "corp.crt", "anchor"],
];

export type Place = { directory: string; file: string; item: Desired; renewed: Desired };
/** Returns the assignment of a directory, and the one that later takes its place. */
export function assigned({ authority, other, leaf, next }: Stock, [trustStoreType, file, material]: (typeof FAMILY)[number], trustStorePath: string): Place {
  const reloads = { anchor: {}, client: {}, server: { reloadCommand: ["true"] } }[material];
  const config = { trustStorePath, ...(material === "anchor" && { alias: "corp" }), ...reloads };
  const rest = { trustStoreType, config, ...(material === "client" && { materialType: "client_certificate" as const }) };
  const item = material === "anchor" ? desired(authority.root, rest) : desiredServer(leaf, rest);
  const { pem, fingerprint, ...issued } = material === "anchor" ? other.root : next;
  const privateKeyPem = material === "anchor" ? null : issued.privateKeyPem;
  return { directory: trustStorePath, file, item, renewed: { ...item, version: 2, pem, fingerprintSha256: fingerprint, privateKeyPem } };
}

/** Returns the expected result of a failed pass. */
export const failed = (words: RegExp) => ({ state: "failed", message: expect.stringMatching(words) });

/** Returns the content of a scratch host's directory, without the agent's own. */
export const placesIn = (directory: string) => stateOf(directory, (name) => !/^(state|home)(\/|$)/.test(name));
