import { createSocket } from "node:dgram";
import { isPublicAddress } from "./address-policy";
import { failure } from "./failure";
import type { Limits } from "./http-client";

/** How long to wait for an answer before the same is sent again. */
const RESEND_MS = 1_500;

type Exchange = { address: string; port: number; datagram: Uint8Array; isAnswer: (datagram: Buffer) => boolean };

/** Sends a datagram to an address, again while nothing comes, and returns the first that comes from there and is the answer. */
export async function exchangeDatagrams({ address, port, datagram, isAnswer }: Exchange, { allowPrivate, signal }: Limits): Promise<Buffer> {
  if (!allowPrivate && !isPublicAddress(address)) throw failure("PRIVATE_TARGET");
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
  const send = () => socket.send(datagram, (error) => error && reject(error));
  const end = () => reject(signal.reason);
  let timer: Timer | undefined;
  socket.on("error", reject);
  socket.on("message", (received) => isAnswer(received) && resolve(received));
  signal.addEventListener("abort", end);
  try {
    const connected = new Promise<void>((done) => socket.connect(port, address, done));
    await Promise.race([connected, promise]);
    send();
    timer = setInterval(send, RESEND_MS);
    return await promise;
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", end);
    socket.close();
  }
}
