import type { Config } from "#config";
import { peerAddress } from "#http/exchange";
import { remember } from "#runtime/remember";
import { inNetworks, readNetworks } from "./cidr";
import { createKeyCheck } from "./keys";

const LOOPBACK = readNetworks("127.0.0.1/32,::1/128").networks;
const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;
/** The headers by which proxies, load balancers and content delivery networks say that they pass a request on. */
const FORWARDING = /^(forwarded|via|cdn-loop|cf-.+|x-forwarded(-.*)?|x-original-.+|x-envoy-.+|(.+-)?(real|client|connecting|remote|user)-?(ip|ipv6|addr))$/;

type Gateways = Pick<Config, "trustedGateways" | "gatewaySecrets" | "trustsLocalPrograms">;
export type GatewayCheck = (request: Request) => boolean;

/**
 * Returns the check whether the socket's peer may vouch for an organization by headers alone: a machine that
 * TRUSTED_GATEWAYS names, or on the demo a program on this machine.
 */
export function createGatewayCheck({ trustedGateways, gatewaySecrets, trustsLocalPrograms }: Gateways): GatewayCheck {
  const isSecret = createKeyCheck(gatewaySecrets);
  const networks = trustsLocalPrograms ? LOOPBACK : trustedGateways;
  const isNamed = remember((address) => inNetworks(address, networks));
  return (request) => {
    if (!isNamed(peerAddress(request))) return false;
    if (gatewaySecrets.length > 0 && !isSecret(request.headers.get("x-gateway-secret"))) return false;
    return !trustsLocalPrograms || isLocalProgram(request.headers);
  };
}

/** True for a request with any header by which a proxy says that it forwards. */
export const isForwarded = (headers: Headers) => [...headers.keys()].some((name) => FORWARDING.test(name));

/** Neither a proxy's request nor one that a web page made. */
function isLocalProgram(headers: Headers) {
  const host = headers.get("host")?.toLowerCase() ?? "localhost";
  const origin = headers.get("origin");
  return !isForwarded(headers) && LOOPBACK_NAME.test(host) && (origin === null || origin === `http://${host}`);
}
