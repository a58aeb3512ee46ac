import type { Server } from "bun";
import type { AnyElysia } from "elysia";
import type { Logger } from "pino";
import type { Deps } from "#deps";
import { holdName, isHeldByThisUser } from "./address-claim";
import { createFetch } from "./server-fetch";
import { IDLE_TIMEOUT_S, serveWithTls } from "./tls";

type Warns = Pick<Logger, "warn">;
type Address = { host: string; port: number };
export type Listening = Pick<Server<undefined>, "url" | "port" | "stop">;

/** Serves the application at the configured address, which workers of one server share. */
export function listen(app: AnyElysia, deps: Deps): Listening {
  const { config, cluster, log, clock, metrics } = deps;
  const fetch = createFetch(app, deps);
  if (!config.tls) return bind(config, fetch, { reusePort: cluster.worker !== undefined });
  const bindWith: Parameters<typeof serveWithTls>[2] = (handle, { cert, key }, port = config.port) =>
    bind({ host: config.host, port }, handle, { reusePort: true, tls: { cert, key } });
  return serveWithTls(config.tls, fetch, bindWith, { log, clock, onServed: metrics.noteTlsCertificate });
}

/**
 * Throws, in a sentence, where the address is taken or not this machine's. Servers that share it with themselves, for new
 * certificates, claim it first: two that start at once would both get it.
 */
export async function checkAddress({ host, port, tls }: Address & { tls?: unknown }, log: Warns) {
  if (tls && process.platform === "linux") await claimAddress({ host, port }, log);
  else await bind({ host, port }, () => new Response()).stop(true);
}

/**
 * Claims the address for workers until this process ends, by a name in Linux's abstract socket namespace, which one process can
 * hold. Returns its port, and throws as `checkAddress`.
 */
export async function claimAddress(address: Address, log: Warns) {
  const probe = bind(address, () => new Response());
  const { port = address.port } = probe;
  const name = `certitude ${address.host} ${port}`;
  try {
    holdName(name);
  } catch (error) {
    if (!isHeldByThisUser(name))
      log.warn({ name }, "another user of this machine holds the abstract socket by which servers claim their address; it is ignored");
    else throw new Error(`${address.host}:${port} is not free to listen on: another certitude has claimed it for its workers`, { cause: error });
  } finally {
    await probe.stop(true);
  }
  return port;
}

/** `reusePort` only where several of ours share the port: a second server would silently share it too. */
type Sharing = { reusePort?: boolean; tls?: { cert: string; key: string } };

function bind(address: Address, fetch: Parameters<typeof Bun.serve>[0]["fetch"], { reusePort = false, tls }: Sharing = {}): Server<undefined> {
  try {
    return Bun.serve({
      hostname: address.host,
      port: address.port,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER, // Bun's own 413 has no message: the guards refuse what is too large before they read it
      idleTimeout: IDLE_TIMEOUT_S,
      development: false,
      reusePort,
      ...(tls && { tls }),
      fetch,
    } as Bun.Serve.Options<undefined>);
  } catch (error) {
    throw new Error(`${address.host}:${address.port} is not free to listen on: ${(error as Error).message}`, { cause: error });
  }
}
