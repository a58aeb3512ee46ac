import { createSocket } from "node:dgram";
import { createServer, type Socket } from "node:net";
import { askByTcp } from "#modules/issuance/dns/services/ask";
import { exchangeDatagrams } from "#outbound/datagrams";
import { freePort } from "../pki/tls-servers";

type Behaviour = {
  host?: string;
  port?: number;
  udp?: (request: Buffer, reply: (bytes: Uint8Array) => void) => void;
  tcp?: (request: Buffer, socket: Socket) => void;
};

/** A server at one port of loopback, over UDP and TCP, that does with requests what the test says, and nothing where that says nothing. */
export async function startDnsServer({ host = "127.0.0.1", port: given, udp, tcp }: Behaviour) {
  const port = given ?? (await freePort());
  const datagrams = createSocket("udp4");
  datagrams.on("message", (request, { port: to, address }) => udp?.(request, (bytes) => datagrams.send(bytes, to, address)));
  await new Promise<void>((resolve) => datagrams.bind(port, host, resolve));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => tcp?.(bytes, socket));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  function stop() {
    datagrams.close();
    server.close();
    for (const socket of sockets) socket.destroy();
  }
  return { address: `${host}:${port}`, endpoint: { host, port }, stop };
}

/** A message as it goes over TCP. */
export const framed = (message: Uint8Array) => Buffer.from([message.length >> 8, message.length & 0xff, ...message]);

/** Passes requests on to another port of loopback: a name server at an address where it cannot listen itself. */
export async function startForwarder(host: string, port: number, to: number) {
  const limits = { allowPrivate: true, signal: new AbortController().signal };
  const server = { host: "127.0.0.1", port: to };
  return startDnsServer({
    host,
    port,
    udp: async (datagram, reply) => reply(await exchangeDatagrams({ address: server.host, port: to, datagram, isAnswer: () => true }, limits)),
    tcp: async (bytes, socket) => socket.end(framed((await askByTcp(server, bytes.subarray(2), limits)).bytes)),
  });
}
