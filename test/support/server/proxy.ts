import { once } from "node:events";
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from "node:net";

/** Returns the address of a connection string's server. */
export function targetOf(url: string): NetConnectOpts {
  const { hostname, port, searchParams } = new URL(url);
  const directory = searchParams.get("host");
  return directory ? { path: `${directory}/.s.PGSQL.5432` } : { host: hostname, port: Number(port || 5432) };
}

/** The same connection string by way of `port`. */
export function viaPort(url: string, port: number, host = "127.0.0.1") {
  const via = new URL(url);
  via.searchParams.delete("host");
  via.host = `${host}:${port}`;
  return via.href;
}

/** Stands between a server and what it connects to, hears all that passes, and can do to them what networks and failovers do. */
export async function startProxy(first: NetConnectOpts, hear: (bytes: Uint8Array) => void = () => {}) {
  const pairs = new Set<[Socket, Socket]>();
  let target = first;
  const server = createServer((near) => {
    if (isHangingUp)
      return void near
        .on("error", () => {})
        .resume()
        .end();
    const pair: [Socket, Socket] = [near, connect(target)];
    const [, far] = pair;
    pairs.add(pair);
    near.on("data", (data) => far.write(data));
    far.on("data", (data) => near.write(data));
    for (const each of pair)
      each
        .on("data", hear)
        .on("error", () => {})
        .on("close", () => end(pair));
    if (isFrozen) freezePair(pair);
  });
  let isFrozen = false;
  let isHangingUp = false;

  function end(pair: [Socket, Socket]) {
    pairs.delete(pair);
    for (const each of pair) each.destroy();
  }
  async function listen(port: number) {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  }
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const cut = () => [...pairs].forEach(end);

  return {
    port,
    /** Lets no bytes pass from now on, without an error. */
    freeze() {
      isFrozen = true;
      pairs.forEach(freezePair);
    },
    /** No answer comes back any more on the connections that are there. Resolves at the first bytes that wait for one. */
    mute: () =>
      new Promise<void>((resolve) => {
        for (const [near, far] of pairs) {
          far.pause();
          near.once("data", () => resolve());
        }
      }),
    /** As after a failover: the old connections stay silent, new ones work. */
    freezeOld: () => pairs.forEach(freezePair),
    thaw() {
      isFrozen = false;
      isHangingUp = false;
      for (const each of [...pairs].flat()) each.resume();
    },
    cut,
    /** New connections go there, as when an address moves to another server. */
    moveTo(next: NetConnectOpts) {
      target = next;
    },
    /** Takes each new connection and ends it, as a load balancer without a server behind it does. */
    hangUp() {
      isHangingUp = true;
    },
    async refuse() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
    accept: () => listen(port),
    async stop() {
      server.close();
      cut();
    },
  };
}

const freezePair = (pair: [Socket, Socket]) => {
  for (const each of pair) each.pause();
};
