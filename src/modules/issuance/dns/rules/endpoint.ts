import { isIP } from "node:net";
import { bareHostFault } from "#outbound/address-policy";

/** A server that speaks DNS. An IPv6 address stands without brackets. */
export type Endpoint = { host: string; port: number };

export const DNS_PORT = 53;

/** Returns the host and port of "ns1.example.com", "192.0.2.1:5353", "2001:db8::1" or "[2001:db8::1]:5353"; undefined for anything else. */
export function readEndpoint(text: string): Endpoint | undefined {
  if (isIP(text) === 6) return { host: text, port: DNS_PORT };
  const [, bracketed, plain, digits = String(DNS_PORT)] = /^(?:\[([^[\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const [host, port] = [bracketed ?? plain, Number(digits)];
  if (host === undefined || (bracketed !== undefined && isIP(bracketed) !== 6) || port < 1 || port > 65_535) return;
  return { host, port };
}

/** As the host stands in a URL. */
export const bracketed = (host: string) => (host.includes(":") ? `[${host}]` : host);

export const describeEndpoint = ({ host, port }: Endpoint) => (port === DNS_PORT ? host : `${bracketed(host)}:${port}`);

/** Returns the fault in a server's address, as the end of a sentence. */
export function endpointFault(text: string, { allowPrivate, isAddress }: { allowPrivate: boolean; isAddress: boolean }) {
  const endpoint = readEndpoint(text);
  if (!endpoint || (isAddress && isIP(endpoint.host) === 0)) {
    return isAddress
      ? "must be an IP address, with or without a port (192.0.2.1:53)"
      : "must be a host name or an IP address, with or without a port (ns1.example.com:53)";
  }
  return bareHostFault(bracketed(endpoint.host), allowPrivate);
}
