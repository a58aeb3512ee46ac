import type { Server } from "bun";
import type { AnyElysia } from "elysia";
import type { Deps } from "#deps";
import { createFetch } from "./server-fetch";

type Address = { host: string; port: number };

/** Serves the application at the configured address, which workers of one server share. */
export function listen(app: AnyElysia, deps: Deps): Server<undefined> {
  const server = bind(deps.config, createFetch(app, deps), deps.cluster.worker !== undefined);
  app.server = server;
  return server;
}

/** Throws, in a sentence, where the address is taken or is not this machine's. */
export async function checkAddress(address: Address) {
  await bind(address, () => new Response()).stop(true);
}

/**
 * Claims the address for workers that will share it, until this process ends; returns its port. Any process of this user could
 * share it too, so the claim is a name in Linux's abstract socket namespace, which one process can hold. Throws as `checkAddress`.
 */
export async function claimAddress(address: Address) {
  const probe = bind(address, () => new Response());
  const { port = address.port } = probe;
  try {
    Bun.listen({ unix: `\0certitude ${address.host} ${port}`, socket: { data() {} } });
  } catch (error) {
    throw new Error(`${address.host}:${port} is not free to listen on: another certitude has claimed it for its workers`, { cause: error });
  } finally {
    await probe.stop(true);
  }
  return port;
}

function bind(address: Address, fetch: Parameters<typeof Bun.serve>[0]["fetch"], isShared = false): Server<undefined> {
  try {
    return Bun.serve({
      hostname: address.host,
      port: address.port,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER, // Bun's own 413 has no message: the guards refuse what is too large before they read it
      idleTimeout: 30,
      development: false,
      reusePort: isShared, // or a second server would silently share the port
      fetch,
    } as Bun.Serve.Options<undefined>);
  } catch (error) {
    throw new Error(`${address.host}:${address.port} is not free to listen on: ${(error as Error).message}`, { cause: error });
  }
}
