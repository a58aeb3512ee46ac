import { isDeepStrictEqual } from "node:util";
import ipaddr from "ipaddr.js";
import { type IssuancePolicy, isWithin } from "./policy";

type Covers<Value> = (allowed: Value[], each: Value) => boolean;
const has: Covers<string> = (allowed, each) => allowed.includes(each);

/** True where `next` allows what `current` does not; null allows all. */
const allowsMore = (current: string[] | null, next: string[] | null, covers = has) =>
  current !== null && (next === null || next.some((each) => !covers(current, each)));

function readNetwork(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  if (text.includes("/")) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

const isInOneOf: Covers<string> = (allowed, each) => {
  const [address, bits] = readNetwork(each);
  return allowed.some((one) => {
    const network = readNetwork(one);
    return network[0].kind() === address.kind() && network[1] <= bits && address.match(network);
  });
};

/** Returns the parts of a policy that allow more than another one does. */
const LOOSER: { [Part in keyof IssuancePolicy]: (current: IssuancePolicy[Part], next: IssuancePolicy[Part]) => boolean } = {
  allowedDomains: (current, next) => allowsMore(current, next, (allowed, each) => isWithin(each, allowed)),
  allowedAddresses: (current, next) => allowsMore(current, next, isInOneOf),
  allowedKeyAlgorithms: (current, next) => allowsMore(current, next),
  allowedKeyLocations: (current, next) => allowsMore(current, next),
  needsApproval: (current, next) => current && !next,
};

/**
 * Returns what of a new policy counts at once: all of it where the one in force asks for no approval; else the parts that allow nothing
 * more, while those that do wait for another admin.
 */
export function tighten(current: IssuancePolicy, next: IssuancePolicy): { policy: IssuancePolicy; waits: boolean } {
  if (!current.needsApproval) return { policy: next, waits: false };
  const keep = <Part extends keyof IssuancePolicy>(part: Part) => (LOOSER[part](current[part], next[part]) ? current[part] : next[part]);
  const policy: IssuancePolicy = {
    allowedDomains: keep("allowedDomains"),
    allowedAddresses: keep("allowedAddresses"),
    allowedKeyAlgorithms: keep("allowedKeyAlgorithms"),
    allowedKeyLocations: keep("allowedKeyLocations"),
    needsApproval: keep("needsApproval"),
  };
  return { policy, waits: !isDeepStrictEqual(policy, next) };
}
