import ipaddr from "ipaddr.js";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";
import type { Authority } from "../authority";

/** An authority of these stores is permitted where all that is said holds of it. */
type AnchorRule = { any?: string[]; sha256?: string[]; "signed-by"?: string[]; names?: string[]; stores?: string[] };
type Network = ReturnType<typeof ipaddr.parseCIDR>;

const FINGERPRINT = /^[0-9a-f]{64}$/;
const DOMAIN = /^(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;
const SHAPE = "must be any, sha256:…, signed-by:… (64 hexadecimal digits) or names:corp.example,10.0.0.0/8, and stores:… for some kinds of store alone";

/** Returns what a text of a policy says, or why it says nothing, as the rest of a sentence. */
function readAnchorRule(text: string): AnchorRule | string {
  const rule: AnchorRule = {};
  for (const word of text.split(" ")) {
    const [kind = "", value = ""] = word.split(/:(.*)/s);
    const values = value.split(",");
    if (!isKind(kind) || !values.every(KINDS[kind])) return `${SHAPE}; "${word}" is none of these`;
    rule[kind] = values;
  }
  return Object.keys(rule).some((kind) => kind !== "stores") ? rule : SHAPE;
}

const STORES: readonly string[] = INSTALLABLE;
/** The values that each kind of word may have. */
const KINDS: Record<keyof AnchorRule, (value: string) => boolean> = {
  any: (value) => value === "",
  sha256: (value) => FINGERPRINT.test(value),
  "signed-by": (value) => FINGERPRINT.test(value),
  names: (value) => DOMAIN.test(value) || readNetwork(value) !== undefined,
  stores: (value) => STORES.includes(value),
};
const isKind = (word: string): word is keyof AnchorRule => Object.hasOwn(KINDS, word);
const readNetwork = (text: string): Network | undefined => (ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : undefined);

/** Returns why a text cannot stand among the anchors of a policy. */
export function anchorFault(text: string) {
  const rule = readAnchorRule(text);
  return typeof rule === "string" ? rule : undefined;
}

/** Returns true if the rule permits this authority in a store of this kind. */
export function permitsAnchor(text: string, store: string, authority: Authority) {
  const rule = readAnchorRule(text);
  if (typeof rule === "string") return false;
  const { sha256, "signed-by": signers, names, stores } = rule;
  return (
    (stores === undefined || stores.includes(store)) &&
    (sha256 === undefined || sha256.includes(authority.fingerprint)) &&
    (signers === undefined || signers.some((each) => authority.signers.includes(each))) &&
    (names === undefined || isConfinedTo(names, authority.names))
  );
}

/**
 * Returns true where an authority can certify nothing but these: without constraints of one kind of name, it can certify every
 * such name.
 */
function isConfinedTo(allowed: string[], names: Authority["names"]) {
  if (!names) return false;
  const { permitted, excluded } = names;
  const networks = allowed.flatMap((each) => (each.includes("/") ? [readNetwork(each)] : [])).filter((each) => each !== undefined);
  const isDomainIn = (domain: string) => allowed.some((each) => domain.replace(/^\./, "") === each || domain.endsWith(`.${each}`));
  const isNetworkIn = (bytes: Uint8Array) => networks.some((each) => isWithin(bytes, each));
  const hasDomains = permitted.domains.length > 0 ? permitted.domains.every(isDomainIn) : excluded.domains.includes("");
  const excludesAll = [8, 32].every((length) => excluded.networks.some((each) => each.length === length && each.every((byte) => byte === 0)));
  return hasDomains && (permitted.networks.length > 0 ? permitted.networks.every(isNetworkIn) : excludesAll);
}

/** Returns true where an address and its mask, one after the other, lie in the network. */
function isWithin(bytes: Uint8Array, [address, bits]: Network) {
  if (bytes.length !== address.toByteArray().length * 2) return false;
  const half = bytes.length / 2;
  const [first, mask] = [bytes.subarray(0, half), bytes.subarray(half)].map((each) => ipaddr.fromByteArray([...each]));
  const length = mask?.prefixLengthFromSubnetMask() ?? null;
  return first !== undefined && length !== null && length >= bits && first.kind() === address.kind() && first.match([address, bits] as never);
}
