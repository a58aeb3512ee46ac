import ipaddr from "ipaddr.js";

/** Names that mean this machine or its network, whatever a name server says. */
const LOCAL_NAME = /^[^.]+$|(^|\.)(localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/i;
/** Global addresses that a cloud answers with its instances' metadata. */
const METADATA = new Set(["168.63.129.16"]);
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

/** True for an address of the public internet: not private, loopback, link-local, shared, multicast, reserved or one that embeds such. */
export function isPublicAddress(address: string) {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== "unicast" || METADATA.has(parsed.toString())) return false;
  return parsed.kind() === "ipv4" || parsed.match(GLOBAL_IPV6);
}

/** Returns the fault in a host in the URL parser's form, where every notation of an address has become one. */
export function hostFault(hostname: string) {
  const host = withoutEnd(hostname.replace(/^\[|\]$/g, ""), ".");
  const isLocal = ipaddr.isValid(host) ? !isPublicAddress(host) : LOCAL_NAME.test(host);
  return isLocal ? "must not point to a private, local or reserved address" : undefined;
}

export function withoutEnd(text: string, character: string) {
  let { length } = text;
  while (text[length - 1] === character) length--;
  return text.slice(0, length);
}

/** The same for a host that stands alone, outside a URL. */
export function bareHostFault(host: string, allowPrivate: boolean) {
  const url = URL.parse(`http://${host}`);
  if (!url || /[\s\p{Cc}\\/?#@]/u.test(host) || url.port || (host.includes(":") && !host.startsWith("["))) return "must be a host name or an IP address";
  return allowPrivate ? undefined : hostFault(url.hostname);
}
