import { children, contentOf, context, type Der, TAG } from "./der";

/**
 * Subtrees of names (RFC 5280, 4.2.1.10): domains in lower case, and ranges of addresses as the address and its mask, one after
 * the other.
 */
type Subtrees = { domains: string[]; networks: Uint8Array[] };
export type NameSubtrees = { permitted: Subtrees; excluded: Subtrees };

/** GeneralName's own tags. */
const [DNS_NAME, IP_ADDRESS] = [0x82, 0x87];

/**
 * Returns the names that an authority may certify, and those that it may not, by its extension nameConstraints; names of other
 * kinds are left out.
 */
export function readNameConstraints(extension: Der): NameSubtrees {
  const lists = children(extension, TAG.sequence);
  const read = (number: number): Subtrees => {
    const list = lists.find(({ tag }) => tag === context(number));
    const names = list ? children(list, context(number)).flatMap((subtree) => children(subtree, TAG.sequence).slice(0, 1)) : [];
    const ofTag = (tag: number) => names.filter((each) => each.tag === tag).map((each) => contentOf(each, tag));
    return { domains: ofTag(DNS_NAME).map((each) => Buffer.from(each).toString("latin1").toLowerCase()), networks: ofTag(IP_ADDRESS) };
  };
  return { permitted: read(0), excluded: read(1) };
}
