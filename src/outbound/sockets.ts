import { connect, type Socket } from "node:net";
import { bareHostFault } from "./address-policy";
import { failure } from "./failure";
import type { Limits } from "./http-client";
import { lookupFor } from "./lookup";

/**
 * Connections to a server that speaks another protocol than HTTP, under the same rules: the same addresses, and an end when
 * `signal` says so.
 */
export function openSockets({ host, port }: { host: string; port: number }, { allowPrivate, signal }: Limits) {
  const sockets = new Set<Socket>();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {}); // those that wait in `untilEnd` get it

  function close() {
    signal.removeEventListener("abort", end);
    for (const socket of sockets) socket.destroy();
  }
  function end() {
    close();
    ended.reject(signal.reason);
  }
  signal.addEventListener("abort", end);

  async function open() {
    signal.throwIfAborted();
    if (bareHostFault(host, allowPrivate)) throw failure("PRIVATE_TARGET"); // an address is never looked up
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect({ host: host.replace(/^\[|\]$/g, ""), port, lookup: lookupFor({ allowPrivate }) }, resolve);
    sockets.add(socket);
    socket.once("error", reject);
    socket.once("close", () => reject(failure("ECONNRESET")));
    await untilEnd(promise);
    socket.removeListener("error", reject);
    return socket;
  }

  /** Waits for `work`, but no longer than the calls may take. */
  const untilEnd = <Value>(work: Promise<Value>) => Promise.race([work, ended.promise]);

  return { open, untilEnd, close };
}
