import ipaddr from "ipaddr.js";

export type Networks = [ipaddr.IPv4 | ipaddr.IPv6, number][];

/** The old `::a.b.c.d` is no IPv4 address, although ipaddr.js reads it as one. */
const COMPATIBLE = /^::\d+\./;

/** Reads "10.0.0.0/8, ::1": a bare address is one machine. What is no network, or is the whole world, comes back as unreadable. */
export function readNetworks(list: string) {
  const networks: Networks = [];
  const unreadable: string[] = [];
  for (const entry of list.split(",").flatMap((each) => each.trim() || [])) {
    const network = readNetwork(entry);
    if (network && network[1] > 0) networks.push(network);
    else unreadable.push(entry);
  }
  return { networks, unreadable };
}

function readNetwork(entry: string): Networks[number] | undefined {
  if (COMPATIBLE.test(entry)) return;
  if (ipaddr.IPv4.isValidCIDRFourPartDecimal(entry)) return ipaddr.IPv4.parseCIDR(entry);
  if (ipaddr.IPv6.isValidCIDR(entry)) return unmap(ipaddr.IPv6.parseCIDR(entry));
  if (!ipaddr.IPv4.isValidFourPartDecimal(entry) && !ipaddr.IPv6.isValid(entry)) return;
  const address = ipaddr.process(entry);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

function unmap([address, bits]: [ipaddr.IPv6, number]): Networks[number] {
  return address.isIPv4MappedAddress() && bits >= 96 ? [address.toIPv4Address(), bits - 96] : [address, bits];
}

/** `::ffff:a.b.c.d` counts as the IPv4 address a.b.c.d. */
export function inNetworks(address: string, networks: Networks) {
  if (!ipaddr.isValid(address) || COMPATIBLE.test(address)) return false;
  const peer = ipaddr.process(address);
  return networks.some(([network, bits]) => network.kind() === peer.kind() && peer.match(network, bits));
}
