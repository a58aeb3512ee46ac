import { connect as connectSocket, isIP, type NetConnectOpts, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { failure } from "./failures";
import type { Tls } from "./url";

const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const CANCEL_REQUEST = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46]);
const YES = "S".charCodeAt(0);

/** Names a server for a person: host and port, or its socket. */
export const nameOf = (target: NetConnectOpts) =>
  "path" in target ? target.path : `${target.host?.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;

/**
 * A socket to `target`, secured. It fails unless `began` is called within `timeout` ms: an address may swallow what is sent there, and a
 * server may take a connection and never answer.
 */
export async function openSocket(target: NetConnectOpts, tls: Tls | undefined, timeout: number): Promise<{ socket: Duplex; began: () => void }> {
  const plain = connectSocket(target);
  let socket: Duplex = plain;
  let isTaken = false;
  const timer = timeout > 0 ? setTimeout(() => socket.destroy(failure("CONNECT_TIMEOUT", describeTimeout(target, isTaken, timeout))), timeout) : undefined;
  const began = () => clearTimeout(timer);
  try {
    await happens(plain, "connect");
    isTaken = true;
    if (tls && !("path" in target)) socket = await secure(plain, tls, target.host ?? "");
    return { socket: socket.once("close", began), began };
  } catch (error) {
    began();
    plain.destroy();
    throw error;
  }
}

/**
 * Asks Postgres to cancel what the session of this key does, as libpq does: on a connection of its own, which Postgres ends
 * once it has passed it on.
 */
export async function cancel(target: NetConnectOpts, tls: Tls | undefined, key: Buffer, timeout: number) {
  const { socket } = await openSocket(target, tls, timeout);
  socket.on("error", () => {}).resume();
  socket.end(Buffer.concat([CANCEL_REQUEST, key]));
}

const describeTimeout = (target: NetConnectOpts, isTaken: boolean, timeout: number) =>
  isTaken
    ? `${nameOf(target)} takes connections, but did not answer within ${timeout / 1_000} s. See whether Postgres is overloaded or stands still there; connect_timeout of DATABASE_URL lets it take longer`
    : `${nameOf(target)} did not answer within ${timeout / 1_000} s. See that DATABASE_URL names the right address, and that no firewall stands in between`;

async function secure(socket: Socket, { isOptional, options }: Tls, host: string) {
  socket.write(TLS_REQUEST);
  const answer = await happens<Buffer>(socket, "data");
  // More than the one byte would be an attacker's, smuggled in before the encryption.
  const isOffered = answer.length === 1 && answer[0] === YES;
  if (!isOffered && isOptional) return socket;
  if (!isOffered) throw failure("TLS_REFUSED", "the server offers no TLS, and sslmode asks for it");
  const secured = connectTls({ socket, ...(isIP(host) === 0 && { servername: host }), host, ...options });
  await happens(secured, "secureConnect");
  return secured;
}

/** The event's first value; a failure or an end before it rejects. */
function happens<Value>(socket: Socket, event: string) {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  const ended = () => reject(failure("CONNECTION_CLOSED", "Postgres ended the connection"));
  socket.once(event, resolve).once("error", reject).once("close", ended);
  return promise.finally(() => socket.removeListener(event, resolve).removeListener("error", reject).removeListener("close", ended));
}
