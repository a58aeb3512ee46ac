import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { askInOwnProcess } from "../support/agent/asking";
import { type OwnedServer, startOwnedServer } from "../support/agent/owned-server";

setDefaultTimeout(300_000);

const MIB = 1024 * 1024;

let server: OwnedServer;
beforeEach(() => {
  server = startOwnedServer();
});
afterAll(() => server.stop());

/** A server that goes on with an answer of this beginning for as long as it is read. */
async function startEndless(beginning: string, piece: Buffer) {
  const pour = (socket: Socket) => {
    while (socket.writable && socket.write(piece)) {}
  };
  const listener = createServer((socket) => {
    socket
      .on("error", () => {})
      .once("data", () => {
        socket.write(beginning);
        socket.on("drain", () => pour(socket));
        pour(socket);
      });
  });
  await new Promise<void>((listening) => listener.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`, stop: () => listener.close() };
}

/** What the same process needs for an answer of a few bytes. */
const modest = async () => (await askInOwnProcess(server.url)).peakMib;

describe("refused: an answer over 8 MiB", () => {
  test("an endless one, chunked or not, takes no more memory than that", async () => {
    const idle = await modest();
    for (const [beginning, piece] of [
      ["HTTP/1.1 200 OK\r\n\r\n", Buffer.alloc(MIB, "x")],
      ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", Buffer.from("1\r\nx\r\n".repeat(50_000))],
    ] as const) {
      const endless = await startEndless(beginning, piece);
      const { error, peakMib } = await askInOwnProcess(endless.url);
      expect(error).toBe(
        `${endless.url}/agent/assignments answered with over 8 MiB. If this host has that many assignments, raise the limit: --max-answer 16MiB`,
      );
      expect(peakMib - idle).toBeLessThan(100);
      endless.stop();
    }
  });

  test("a compressed one is asked for nowhere, and not unpacked", async () => {
    const idle = await modest();
    const bomb = await Bun.$`head -c ${500 * MIB} /dev/zero | gzip`.arrayBuffer(); // made elsewhere: a process inherits its parent's peak
    let accepted: string | null = "";
    server.answer((request) => {
      accepted = request.headers.get("accept-encoding");
      return new Response(bomb, { headers: { "content-encoding": "gzip" } });
    });
    for (const path of ["/agent/assignments", "/agent/credentials"]) {
      const { error, peakMib } = await askInOwnProcess(server.url, { path });
      expect(error).toBe(`${server.url}${path} answered compressed, which the agent does not ask for. Does a proxy in between compress?`);
      expect(peakMib - idle).toBeLessThan(50);
    }
    expect(accepted).toBe("identity");
  });

  test("a desired state, signed and all; a host whose limit is higher takes it, and one that had half of it before, up to 32 MiB", async () => {
    server.send({ items: [], padding: "x".repeat(9 * MIB) });
    expect((await askInOwnProcess(server.url)).error).toContain("over 8 MiB");
    expect((await askInOwnProcess(server.url, { maxAnswer: 10 * MIB })).status).toBe(200);
    expect((await askInOwnProcess(server.url, { lastSize: 5 * MIB })).status).toBe(200);
    expect((await askInOwnProcess(server.url, { lastSize: 5 * MIB, maxAnswer: 8 * MIB })).error).toContain("over 8 MiB");
    server.send({ items: [], padding: "x".repeat(33 * MIB) });
    expect((await askInOwnProcess(server.url, { lastSize: 30 * MIB })).error).toContain("over 32 MiB");
  });

  test("of any other call: joining, a credential, what a signing request is answered with", async () => {
    server.answer(() => new Response("x".repeat(9 * MIB), { status: 400 }));
    for (const path of ["/agent/join", "/agent/credentials", "/agent/reports"])
      expect((await askInOwnProcess(server.url, { path })).error).toContain("over 8 MiB");
  });
});
