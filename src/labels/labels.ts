export const MAX_LABELS = 64;
export const MAX_VALUE = 63;
export const KEY_FORM = "a key is 1 to 63 lower-case letters, digits and hyphens, and begins and ends with a letter or digit";

/** A DNS label (RFC 1123). */
export const isLabelKey = (key: string) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(key);

/** Returns the fault in the keys of the labels at `field`, if any. */
export function findKeyFault(field: string, keys: string[]) {
  const bad = keys.find((key) => !isLabelKey(key));
  if (bad !== undefined) return `${field} names the key ${JSON.stringify(bad.slice(0, 100))}, but ${KEY_FORM}.`;
  if (keys.length > MAX_LABELS) return `${field} names ${keys.length} labels, but there may be at most ${MAX_LABELS}.`;
}

type BulkChange = { agentIds?: string[] | undefined; selector?: Labels | undefined; set?: Labels | undefined; unset?: string[] | undefined };
type Labels = Record<string, string>;

/** Returns the fault of a bulk change that holds for any agents, or undefined. */
export function findBulkFault({ agentIds, selector, set = {}, unset = [] }: BulkChange) {
  if ((agentIds === undefined) === (selector === undefined)) return "The body must have either agentIds or selector.";
  const keys = Object.keys(set);
  if (keys.length + unset.length === 0) return "The body must name at least one label in set or unset.";
  const both = keys.find((key) => unset.includes(key));
  if (both !== undefined) return `The label ${both.slice(0, 100)} is in both body.set and body.unset.`;
  return findKeyFault("body.selector", Object.keys(selector ?? {})) ?? findKeyFault("body.set", keys) ?? findKeyFault("body.unset", unset);
}
