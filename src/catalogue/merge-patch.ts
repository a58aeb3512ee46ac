import type { Values } from "./fields";

/** JSON merge patch (RFC 7396): null removes, an object is merged, anything else replaces. */
export function mergePatch(target: Values, patch: Values): Values {
  const merged = new Map(Object.entries(target));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isObject(value) ? mergePatch(asObject(merged.get(key)), value) : value);
  }
  return Object.fromEntries(merged);
}

const isObject = (value: unknown): value is Values => value !== null && typeof value === "object" && !Array.isArray(value);
const asObject = (value: unknown) => (isObject(value) ? value : {});
