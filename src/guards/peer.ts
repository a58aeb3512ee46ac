import type { Server } from "bun";
import type { Config } from "../config";
import { inNetworks } from "./networks";

const FORWARDED = ["forwarded", "x-forwarded-for", "x-real-ip"];
const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

type Gateways = Pick<Config, "trustedGateways" | "onlyLoopbackGateways" | "publicUrl">;

/**
 * True when the socket's peer may vouch for an organization by headers alone. While nobody named a gateway, loopback
 * is trusted only for programs on this machine: neither a proxy's request nor one that a web page made passes.
 */
export function isTrustedGateway(config: Gateways, request: Request, server: Server<unknown> | null) {
  const address = server ? server.requestIP(request)?.address : "127.0.0.1";
  if (!address || !inNetworks(address, config.trustedGateways)) return false;
  return !config.onlyLoopbackGateways || isLocalProgram(config, request.headers);
}

function isLocalProgram({ publicUrl }: Gateways, headers: Headers) {
  if (FORWARDED.some((name) => headers.has(name))) return false;
  const host = headers.get("host")?.toLowerCase() ?? "localhost";
  const ours = publicUrl ? new URL(publicUrl) : undefined;
  if (!LOOPBACK_NAME.test(host) && host !== ours?.host) return false;
  const origin = headers.get("origin");
  return origin === null || origin === `http://${host}` || origin === ours?.origin;
}
