import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Networks = [Address, number][];

/** The old `::a.b.c.d` is no IPv4 address, although ipaddr.js reads it as one. */
const COMPATIBLE = /^::\d+\./;
/** The addresses that a peer on the Internet can have, first to last: unicast IPv4, and the global unicast block of IPv6. */
const EVERYTHING = [
  { name: "IPv4", kind: "ipv4", first: "1.0.0.0", last: "223.255.255.255" },
  { name: "IPv6", kind: "ipv6", first: "2000::", last: "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
];

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

/**
 * Returns the network of an address or of an address and a length, as RFC 4291 and dotted decimals write it; undefined for
 * other notations.
 */
export function readNetwork(entry: string): Networks[number] | undefined {
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

/** The network that one subscriber has: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string) {
  if (!ipaddr.isValid(address)) return address;
  const peer = ipaddr.process(address);
  if (peer.kind() === "ipv4") return peer.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${new ipaddr.IPv6(peer.toByteArray())}/64`)}/64`;
}

/** `::ffff:a.b.c.d` counts as the IPv4 address a.b.c.d. */
export function inNetworks(address: string, networks: Networks) {
  if (!ipaddr.isValid(address) || COMPATIBLE.test(address)) return false;
  const peer = ipaddr.process(address);
  return networks.some(([network, bits]) => network.kind() === peer.kind() && peer.match(network, bits));
}

/** Returns "IPv4" or "IPv6", or both, where the networks leave no address of the family out. */
export const coveredFamilies = (networks: Networks) =>
  EVERYTHING.filter(({ kind, first, last }) => {
    const own = networks.filter(([address]) => address.kind() === kind).map(toRange);
    let next = toNumber(ipaddr.parse(first));
    for (const range of own.toSorted((one, other) => (one.first < other.first ? -1 : 1))) if (range.first <= next && range.last >= next) next = range.last + 1n;
    return next > toNumber(ipaddr.parse(last));
  }).map(({ name }) => name);

const toNumber = (address: Address) => BigInt(`0x${Buffer.from(address.toByteArray()).toString("hex")}`);

function toRange([address, bits]: Networks[number]) {
  const size = 1n << BigInt(address.toByteArray().length * 8 - bits);
  const first = (toNumber(address) / size) * size;
  return { first, last: first + size - 1n };
}
