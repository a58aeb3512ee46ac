import { connect as connectSocket, isIP, type NetConnectOpts, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { Tls } from "./url";

const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const YES = "S".charCodeAt(0);

/** Milliseconds, of which 0 is for ever: how long to wait for a connection, and for an answer to a write. */
type Manner = { tls: Tls | undefined; silence: number; timeout: number };

/**
 * A socket to the first of `targets` that answers, secured, and watched for `silence`. It never rejects: postgres.js
 * would lose the connection for ever. Where no answer comes, the socket fails at the first write, which it survives.
 */
export async function openSocket(targets: NetConnectOpts[], { tls, silence, timeout }: Manner): Promise<Duplex> {
  const failures: unknown[] = [];
  for (const target of targets) {
    const socket = await open(target, "path" in target ? undefined : tls, timeout).catch((error) => void failures.push(error));
    if (socket) return watchSilence(failAtEnd(socket), silence);
  }
  return new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(failures[0] as Error) });
}

const failure = (code: string, message: string) => Object.assign(new Error(message), { code });

async function open(target: NetConnectOpts, tls: Tls | undefined, timeout: number): Promise<Duplex> {
  const socket = connectSocket(target);
  const timer = timeout > 0 ? setTimeout(() => socket.destroy(failure("CONNECT_TIMEOUT", "Postgres cannot be reached")), timeout) : undefined;
  try {
    await happens(socket, "connect");
    return tls ? await secure(socket, tls, "host" in target ? (target.host ?? "") : "") : socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

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

/**
 * Treats a closed connection as a failure: otherwise postgres.js reconnects at once, again and again, to a server that hangs up during the
 * start.
 */
const failAtEnd = (socket: Duplex) => socket.once("end", () => socket.destroy(failure("CONNECTION_CLOSED", "Postgres ended the connection")));

/**
 * Throws the connection away when a write stays without an answer: a frozen server enforces no time-out. Never, with 0.
 * The timer goes on between statements, because a new one for each would cost more.
 */
function watchSilence(socket: Duplex, silence: number) {
  if (silence === 0) return socket;
  const { write } = socket;
  let waitingSince: number | undefined;
  let timer: Timer | undefined;
  let tail: Buffer = Buffer.alloc(0);
  const wait = () => {
    waitingSince ??= performance.now();
    timer ??= setTimeout(check, silence);
  };
  const check = () => {
    timer = undefined;
    if (waitingSince === undefined) return;
    const left = waitingSince + silence - performance.now();
    if (left > 0) timer = setTimeout(check, left);
    else socket.destroy(failure("CONNECTION_CLOSED", "Postgres does not answer"));
  };
  socket.write = (...args: unknown[]) => {
    wait();
    return Reflect.apply(write, socket, args);
  };
  socket
    .on("close", () => clearTimeout(timer))
    .on("data", (chunk: Buffer) => {
      if (waitingSince === undefined) return;
      tail = chunk.length < READY ? Buffer.concat([tail, chunk]).subarray(-READY) : chunk.subarray(-READY);
      waitingSince = isReady(tail) ? undefined : performance.now();
    });
  return socket;
}

const READY = 6;
/** True for the message that ends every answer, ReadyForQuery. */
const isReady = (tail: Buffer) => tail.length === READY && tail[0] === "Z".charCodeAt(0) && tail.readUInt32BE(1) === 5;
