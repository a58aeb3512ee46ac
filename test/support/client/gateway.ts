import { world } from "../server/world";

/** A gateway before the server: `meddle` answers in the server's place, before or after it has. */
export function startGateway(meddle: (request: Request, forward: () => Promise<Response>) => Promise<Response>) {
  const seen: { method: string; key: string | null; condition: string | null }[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      seen.push({ method: request.method, key: request.headers.get("idempotency-key"), condition: request.headers.get("if-match") });
      const { pathname, search } = new URL(request.url);
      const body = request.method === "GET" ? undefined : await request.text();
      return meddle(request, () => fetch(world.url + pathname.replace(/^\/base/, "") + search, { method: request.method, headers: request.headers, body }));
    },
  });
  return { seen, url: server.url.origin, [Symbol.dispose]: () => void server.stop(true) };
}
