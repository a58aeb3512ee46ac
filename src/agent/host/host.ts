import { release } from "node:os";
import { isAbsolute, join } from "node:path";
import { type Argv, argvOf } from "./arguments";
import type { Entries } from "./entries";

/** The machine as the agent sees it; tests give it other places. */
export type Host = {
  environment: Record<string, string | undefined>;
  home: string;
  /**
   * The system's trust store: where anchors are dropped, what its tool makes of them, how the tool is called, the hooks that it
   * reports each change, and the keystore that one of those fills.
   */
  system: { anchors: string; bundle: string; update: Argv; hooks: string; javaStore: string };
  /** The system's trust store of Red Hat's kind: the same, of another tool. */
  caTrust: { anchors: string; bundle: string; update: Argv };
  /** The directory of the host's own programs that run after a change. */
  hooks: string;
  /**
   * Milliseconds that it waits: for a tool, for one connection to an endpoint, for a server to present its new certificate
   * after a reload.
   */
  patience: { tool: number; connection: number; reload: number };
  /** The entries that tools have read from stores, so that an unchanged store needs no tool. */
  entries: Entries;
};

export const thisHost = (environment: Host["environment"]): Host => ({
  environment,
  home: environment.HOME ?? "/root",
  system: {
    anchors: "/usr/local/share/ca-certificates",
    bundle: "/etc/ssl/certs/ca-certificates.crt",
    update: argvOf("update-ca-certificates"),
    hooks: "/etc/ca-certificates/update.d",
    javaStore: "/etc/ssl/certs/java/cacerts",
  },
  caTrust: {
    anchors: "/etc/pki/ca-trust/source/anchors",
    bundle: "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    update: argvOf("update-ca-trust", "extract"),
  },
  hooks: "/etc/certitude-agent/hooks.d",
  patience: { tool: 60_000, connection: 5_000, reload: 10_000 },
  entries: new Map(),
});

/** An absolute path of this host, `~/` being the agent's home. */
export function pathOn(host: Host, path: string, field: string) {
  const full = path.startsWith("~/") ? join(host.home, path.slice(2)) : path;
  if (!isAbsolute(full)) throw new Error(`config.${field} must be an absolute path on this host, such as /etc/ssl/example.`);
  return full;
}

/** Returns the machine's description that the server shows. */
export async function describeHost(hostname: string, agentVersion: string) {
  const file = Bun.file("/etc/os-release");
  const name = (await file.exists()) ? /^PRETTY_NAME="?([^"\n]+)/m.exec(await file.text())?.[1] : undefined;
  return { hostname, operatingSystem: name ?? `${process.platform} ${release()}`, platform: process.platform, architecture: process.arch, agentVersion };
}
