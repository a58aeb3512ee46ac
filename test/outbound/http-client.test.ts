import { afterAll, describe, expect, test } from "bun:test";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describeFailure } from "#outbound/failure";
import { send } from "#outbound/http-client";

const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
});

/** A server that does with a connection what the test says; its address, and a promise of the end of its first connection. */
async function startRaw(serve: (socket: Socket) => void) {
  const ended = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("close", () => ended.resolve());
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(() => server.close());
  return { port: (server.address() as AddressInfo).port, ended: ended.promise };
}

const get = (port: number, signal: AbortSignal, allowPrivate = true) =>
  send({ method: "GET", url: new URL(`http://127.0.0.1:${port}/`), headers: {} }, { allowPrivate, signal });

/** Writes a text again and again, until the other side is gone. */
function drip(socket: Socket, text: string) {
  const timer = setInterval(() => socket.write(text), 20);
  socket.on("close", () => clearInterval(timer));
}

const ENDLESS: [string, (socket: Socket) => void][] = [
  ["says nothing", (socket) => socket.resume()],
  [
    "sends its headers slowly, and never all of them",
    (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nx-a: ");
      drip(socket, "x");
    },
  ],
  [
    "sends its body slowly, and never all of it",
    (socket) => {
      socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      drip(socket, "1\r\nx\r\n");
    },
  ],
  ["says 100 Continue again and again", (socket) => drip(socket, "HTTP/1.1 100 Continue\r\n\r\n")],
];

describe("a call to another server", () => {
  test.each(ENDLESS)("ends with its deadline where the other side %s, and closes the connection", async (_, serve) => {
    const { port, ended } = await startRaw(serve);
    expect(await get(port, AbortSignal.timeout(300)).catch((error: Error) => error)).toBeInstanceOf(Error);
    await ended;
  });

  test("fails at once where the answer is another protocol, or headers without end", async () => {
    const never = new AbortController().signal;
    const upgrading = await startRaw((socket) =>
      socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")),
    );
    expect(describeFailure(await get(upgrading.port, never).catch((error) => error))).toBe("It does not speak HTTP.");
    const wordy = await startRaw((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      drip(socket, `x-a: ${"y".repeat(10_000)}\r\n`);
    });
    expect(describeFailure(await get(wordy.port, never).catch((error) => error))).toBe("It does not speak HTTP.");
    await Promise.all([upgrading.ended, wordy.ended]);
  });

  test("reads no more than 64 KiB, and unpacks none of it", async () => {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) =>
        url.endsWith("/zipped")
          ? new Response(Bun.gzipSync(new Uint8Array(50_000_000)), { headers: { "content-encoding": "gzip" } })
          : new Response("x".repeat(65_537)),
    });
    const call = (path: string) =>
      send({ method: "GET", url: new URL(path, server.url), headers: {} }, { allowPrivate: true, signal: new AbortController().signal });
    expect(describeFailure(await call("/").catch((error) => error))).toBe("It answered with more than 64 KiB.");
    expect((await call("/zipped")).body.length).toBeLessThanOrEqual(65_536);
    await server.stop(true);
  });

  test("follows no redirect, and keeps what Retry-After says", async () => {
    const asked: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch({ url }) {
        asked.push(new URL(url).pathname);
        return new Response(null, { status: 302, headers: { location: "/elsewhere", "retry-after": "7" } });
      },
    });
    const answer = await send(
      { method: "POST", url: new URL("/here", server.url), headers: {}, body: "x" },
      { allowPrivate: true, signal: AbortSignal.timeout(5_000) },
    );
    expect(answer).toMatchObject({ status: 302, retryAfter: "7", body: "", headers: { location: "/elsewhere" } });
    expect(asked).toEqual(["/here"]);
    await server.stop(true);
  });

  test("takes no proxy of the environment, which would look names up itself", async () => {
    const { port: proxy } = await startRaw((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nproxy"));
    const { port } = await startRaw((socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ntarget")));
    const script = `
      import { send } from "#outbound/http-client";
      const { body } = await send({ method: "GET", url: new URL("http://127.0.0.1:${port}/"), headers: {} }, { allowPrivate: true, signal: AbortSignal.timeout(5_000) });
      console.info(body);`;
    const env = { ...Bun.env, HTTP_PROXY: `http://127.0.0.1:${proxy}`, http_proxy: `http://127.0.0.1:${proxy}` };
    const ran = Bun.spawn([process.execPath, "-e", script], { env, cwd: `${import.meta.dir}/../..`, stdout: "pipe" });
    expect((await new Response(ran.stdout).text()).trim()).toBe("target");
  });

  test("reaches no private address unless that is allowed, whether it is written or looked up", async () => {
    let connections = 0;
    const { port } = await startRaw((socket) => {
      connections++;
      socket.end();
    });
    const signal = AbortSignal.timeout(5_000);
    expect(await get(port, signal, false).catch((error) => error.code)).toBe("PRIVATE_TARGET");
    const named = send({ method: "GET", url: new URL(`http://localhost.:${port}/`), headers: {} }, { allowPrivate: false, signal });
    expect(await named.catch((error) => error.code)).toBe("PRIVATE_TARGET");
    expect(connections).toBe(0);
  });
});
