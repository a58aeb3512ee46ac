import { BlockList, isIPv4 } from "node:net";
import { readNetwork } from "#auth/cidr";
import type { Name } from "./driver";
import { isWildcard, readName } from "./names";

export const KEY_LOCATIONS = ["agent", "server", "csr"] as const;
export type KeyLocation = (typeof KEY_LOCATIONS)[number];

/** The names that may be ordered; null allows all. A domain `*.example.com` allows whatever is below example.com, wildcards too. */
export type IssuancePolicy = {
  allowedDomains: string[] | null;
  allowedAddresses: string[] | null;
  allowedKeyAlgorithms: string[] | null;
  allowedKeyLocations: KeyLocation[] | null;
  needsApproval: boolean;
};
export const DEFAULT_POLICY: IssuancePolicy = {
  allowedDomains: null,
  allowedAddresses: null,
  allowedKeyAlgorithms: null,
  allowedKeyLocations: null,
  needsApproval: false,
};

/** A policy with its domains and networks as they are compared, or the first fault. */
export function readPolicy(given: IssuancePolicy): IssuancePolicy | { invalid: string } {
  const allowedDomains: string[] = [];
  for (const [index, each] of (given.allowedDomains ?? []).entries()) {
    const name = readName(each);
    if ("fault" in name || name.type !== "dns") return { invalid: `body.allowedDomains[${index}] ${"fault" in name ? name.fault : "must be a DNS name"}.` };
    allowedDomains.push(name.value);
  }
  const bad = (given.allowedAddresses ?? []).findIndex((each) => each.includes("%") || !readNetwork(each));
  if (bad !== -1) return { invalid: `body.allowedAddresses[${bad}] must be an IP address or a network such as 10.0.0.0/8.` };
  return { ...given, allowedDomains: given.allowedDomains && [...new Set(allowedDomains)] };
}

type RequestedKey = { names: readonly Name[]; key: { algorithm: string; location: KeyLocation } };

/** Returns the objection of a policy to a request, or undefined. */
export function findPolicyFault(policy: IssuancePolicy, { names, key }: RequestedKey) {
  const { allowedDomains, allowedAddresses, allowedKeyAlgorithms, allowedKeyLocations } = policy;
  const isAllowed = ({ type, value }: Name) => (type === "dns" ? isWithin(value, allowedDomains) : isInNetwork(value, allowedAddresses));
  const other = names.find((each) => !isAllowed(each));
  if (other) return `body.names has ${other.value}, which the issuance policy of the organization does not allow.`;
  if (allowedKeyAlgorithms && !allowedKeyAlgorithms.includes(key.algorithm))
    return `The issuance policy of the organization allows keys of ${allowedKeyAlgorithms.join(", ")}, not ${key.algorithm}.`;
  if (allowedKeyLocations && !allowedKeyLocations.includes(key.location))
    return `The issuance policy of the organization allows keys at ${allowedKeyLocations.join(", ")}, not at ${key.location}.`;
}

/** True where these allow a domain, or all that a wildcard stands for. */
export function isWithin(domain: string, allowed: string[] | null) {
  return allowed === null || allowed.some((each) => domain === each || (isWildcard({ type: "dns", value: each }) && domain.endsWith(each.slice(1))));
}

function isInNetwork(address: string, allowed: string[] | null) {
  if (allowed === null) return true;
  const kind = isIPv4(address) ? "ipv4" : "ipv6";
  return networks.getOrInsertComputed(allowed, readNetworks)[kind].check(address, kind);
}

/** The networks of policies, each list read once: a renewal of many certificates asks for each of their names. */
const networks = new WeakMap<string[], ReturnType<typeof readNetworks>>();

/** A list for each family: one list would find IPv4 addresses in ::/0, as the IPv6 addresses that embed them. */
function readNetworks(allowed: string[]) {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const each of allowed) {
    const [network, length] = readNetwork(each) ?? [];
    if (network && length !== undefined) lists[network.kind()].addSubnet(network.toString(), length, network.kind());
  }
  return lists;
}
