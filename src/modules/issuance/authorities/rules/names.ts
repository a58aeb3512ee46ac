import ipaddr from "ipaddr.js";

/** A name that a certificate is for: DNS in A-labels and lower case, or an address in its canonical form. */
export type Name = { type: "dns" | "ip"; value: string };

/** RFC 5280, 4.2.1.10: a domain stands for itself and all below it, an address range is written as CIDR. */
export type NameConstraints = { permittedDomains: string[]; excludedDomains: string[]; permittedAddresses: string[]; excludedAddresses: string[] };

/** The names that a profile allows; null allows any. */
export type AllowedNames = { allowedDomains: string[] | null; allowedAddresses: string[] | null; allowsWildcards: boolean };

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/** True for a domain in A-labels and lower case, of one label or many. */
export const isDomain = (text: string) => text.length <= 253 && text.split(".").every((label) => LABEL.test(label));

/** True for an address range such as 10.0.0.0/8, whose address is its first. */
export function isNetwork(text: string) {
  const network = readNetwork(text);
  return network !== undefined && `${firstOf(network)}/${network[1]}` === text.toLowerCase();
}

function readNetwork(text: string): ReturnType<typeof ipaddr.parseCIDR> | undefined {
  return ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text) ? ipaddr.parseCIDR(text) : undefined;
}

const firstOf = ([address, bits]: ReturnType<typeof ipaddr.parseCIDR>) =>
  (address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(`${address}/${bits}`).toString();

/** The address and the mask of a range, one after the other, as name constraints encode them. */
export function networkBytes(text: string) {
  const [address, bits] = ipaddr.parseCIDR(text);
  const bytes = address.toByteArray();
  return Uint8Array.from([...bytes, ...bytes.map((_, index) => 0xff & (0xff00 >> Math.max(0, Math.min(8, bits - index * 8))))]);
}

/** The range that an address and a mask, one after the other, stand for. */
export function formatNetwork(bytes: Uint8Array) {
  const half = bytes.length / 2;
  const [address, mask] = [ipaddr.fromByteArray([...bytes.subarray(0, half)]), ipaddr.fromByteArray([...bytes.subarray(half)])];
  return `${address}/${mask.prefixLengthFromSubnetMask() ?? 0}`;
}

/** As OpenSSL reads constraints: with a leading dot, which RFC 5280 does not define, only what is below; without a name, everything. */
const isWithin = (domain: string, base: string) => base === "" || domain === base || domain.endsWith(base.startsWith(".") ? base : `.${base}`);
const isInNetwork = (address: string, network: string) => {
  const [parsed, range] = [ipaddr.parse(address), ipaddr.parseCIDR(network)];
  return parsed.kind() === range[0].kind() && parsed.match(range);
};

/** Returns why an authority must not certify a name, as the rest of a sentence. */
export function nameFault({ type, value }: Name, constraints: readonly NameConstraints[], allowed: AllowedNames) {
  const judge = type === "dns" ? domainFault : addressFault;
  return judge(value, constraints, allowed);
}

function domainFault(name: string, constraints: readonly NameConstraints[], { allowedDomains, allowsWildcards }: AllowedNames) {
  const isWildcard = name.startsWith("*.");
  const domain = isWildcard ? name.slice(2) : name;
  if (!isDomain(domain)) return "is not a domain";
  if (isWildcard && !allowsWildcards) return "is a wildcard, and the profile allows none";
  if (allowedDomains && !allowedDomains.some((each) => isWithin(name, each))) return "is in none of the domains that the profile allows";
  // A wildcard stands for names below it, and an excluded domain may be one of those.
  const excludes = (each: string) => isWithin(name, each) || (isWildcard && isWithin(each.replace(/^\./, ""), domain));
  for (const { permittedDomains, excludedDomains } of constraints) {
    if (permittedDomains.length > 0 && !permittedDomains.some((each) => isWithin(name, each))) return "is outside of the name constraints of the authority";
    if (excludedDomains.some(excludes)) return "is excluded by the name constraints of the authority";
  }
}

function addressFault(address: string, constraints: readonly NameConstraints[], { allowedAddresses }: AllowedNames) {
  if (!ipaddr.isValid(address)) return "is not an address";
  const isIn = (network: string) => isInNetwork(address, network);
  if (allowedAddresses && !allowedAddresses.some(isIn)) return "is in none of the address ranges that the profile allows";
  for (const { permittedAddresses, excludedAddresses } of constraints) {
    if (permittedAddresses.length > 0 && !permittedAddresses.some(isIn)) return "is outside of the name constraints of the authority";
    if (excludedAddresses.some(isIn)) return "is excluded by the name constraints of the authority";
  }
}

/** The first fault of lists of domains and of address ranges, as a sentence that names the field. */
export function listFault(at: string, lists: { domains: Record<string, string[] | null | undefined>; networks: Record<string, string[] | null | undefined> }) {
  for (const [field, list] of Object.entries(lists.domains))
    for (const each of list ?? []) if (!isDomain(each)) return `${at}.${field}: "${each}" is not a domain in lower case, without a leading dot or star.`;
  for (const [field, list] of Object.entries(lists.networks))
    for (const each of list ?? []) if (!isNetwork(each)) return `${at}.${field}: "${each}" is not an address range such as 10.0.0.0/8.`;
}
