import { X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import type { Minted } from "#demo/mint";

type Seen = { method: string; path: string; headers: Record<string, string>; body: string };
type Reply = (request: Request, index: number) => Response | Promise<Response>;

const tlsOf = ({ pem, privateKey }: Minted) => ({ cert: pem, key: privateKey.export({ type: "pkcs8", format: "pem" }) as string });

/** A service of the outside world on this machine, which remembers what it was asked. */
export function startTarget(reply: Reply, identity?: Minted) {
  const requests: Seen[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    ...(identity && { tls: tlsOf(identity) }),
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const index = requests.push({ method: request.method, path: pathname + search, headers: request.headers.toJSON(), body: await request.text() }) - 1;
      return reply(request, index);
    },
  });
  return { url: `${identity ? "https" : "http"}://localhost:${server.port}`, requests, stop: () => server.stop(true) };
}

export const fingerprintOf = (pem: string) => new X509Certificate(pem).fingerprint256;

/** A service that knows its one client by its certificate, as Kubernetes does; its address. It ends with the tests. */
export async function startTlsTarget(identity: Minted, client: Minted) {
  const known = fingerprintOf(client.pem);
  const server = createServer({ ...tlsOf(identity), requestCert: true, rejectUnauthorized: false }, (socket) => {
    const status = socket.getPeerCertificate().fingerprint256 === known ? "201 Created" : "401 Unauthorized";
    socket.once("data", () => socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 26\r\n\r\n{"status":{"userInfo":{}}}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}
