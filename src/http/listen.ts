import type { Server } from "bun";
import type { AnyElysia } from "elysia";
import type { Deps } from "#deps";
import { createFetch } from "./server-fetch";

type Address = { host: string; port: number };

/** Serves the application at the configured address. */
export function listen(app: AnyElysia, deps: Deps): Server<undefined> {
  const server = bind(deps.config, createFetch(app, deps));
  app.server = server;
  return server;
}

/** Throws, in a sentence, where the address is taken or is not this machine's. */
export async function checkAddress(address: Address) {
  await bind(address, () => new Response()).stop(true);
}

function bind({ host, port }: Address, fetch: Parameters<typeof Bun.serve>[0]["fetch"]): Server<undefined> {
  try {
    return Bun.serve({
      hostname: host,
      port,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER, // Bun's own 413 has no message: the guards refuse what is too large before they read it
      idleTimeout: 30,
      development: false,
      reusePort: false, // or a second server would silently share the port
      fetch,
    } as Bun.Serve.Options<undefined>);
  } catch (error) {
    throw new Error(`${host}:${port} is not free to listen on: ${(error as Error).message}`, { cause: error });
  }
}
