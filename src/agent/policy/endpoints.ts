import { isIP } from "node:net";
import type { Target } from "../store";
import type { Policy } from "./policy";

const LOCALHOST = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

/** Returns the endpoint of a URI, in the form that a policy uses. */
export function endpointOf(uri: string) {
  const { hostname, port } = new URL(uri.replace(/^tls:/i, "https:"));
  return `${hostname.toLowerCase()}:${port || 443}`;
}

/** Returns true where the host's policy names the endpoint of the config, beyond what is permitted without one. */
export const isEndpointNamed = ({ config: { verifyEndpoint } }: Target, { policy }: { policy: Policy }) =>
  verifyEndpoint !== undefined && policy.endpoints?.includes(endpointOf(verifyEndpoint)) === true;

/** Returns true for this host itself: by loopback, its names and its addresses. */
export function isOwnEndpoint(endpoint: string, ownNames: readonly string[]) {
  const host = endpoint.slice(0, endpoint.lastIndexOf(":")).replace(/^\[|\]$/g, "");
  return LOCALHOST.test(host) || ownNames.some((each) => each.toLowerCase() === host);
}

/** Returns why an endpoint cannot stand in a policy. */
export function endpointFault(endpoint: string) {
  const [, host = "", port = ""] = /^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+):(\d{1,5})$/.exec(endpoint) ?? [];
  const isAddress = !host.startsWith("[") || isIP(host.slice(1, -1)) === 6;
  if (host === "" || !isAddress || Number(port) > 65_535) return "must be a host in lower case and a port, such as www.example.org:443 or [::1]:443";
}
