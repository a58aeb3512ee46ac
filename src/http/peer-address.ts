import type { Server } from "bun";

const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** Returns the address of the socket's peer, IPv4 as such; "unknown" once it hung up. A call inside the process counts as loopback. */
export function peerAddress(request: Request, server: Server<unknown> | null) {
  const address = server ? server.requestIP(request)?.address : "127.0.0.1";
  return address?.replace(MAPPED, "") ?? "unknown";
}
