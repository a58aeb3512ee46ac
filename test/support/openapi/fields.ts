import type { Field } from "#catalogue/fields";

const PLAIN: Record<string, unknown> = {
  string: "text",
  integer: 7,
  number: 0.5,
  boolean: true,
  uri: "https://service.example/base",
  uuid: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
  email: "ada@certitude.example",
  object: { "x-team": "pki" },
};

/** A value that the field allows. */
export function aValueOf(field: Field): unknown {
  const item = /^array<(.+)>$/.exec(field.type)?.[1];
  if (item) return [aValueOf({ ...field, type: item })];
  if (field.name === "host") return "mail.example";
  return field.enum?.[0] ?? (field.minimum === undefined ? PLAIN[field.type] : Math.max(field.minimum, 1));
}

/** Values that the field refuses, each of another kind of wrong. */
export function wrongValuesOf({ type, enum: choices, minimum, maximum }: Field): unknown[] {
  const never = [null, { nested: { deep: 1 } }];
  if (type.startsWith("array<")) return [...never, "text", [5], [null], Array(101).fill("text")];
  if (type === "boolean") return [...never, "true", 1];
  if (type === "object") return [null, "text", ["text"], { nested: { deep: 1 } }, { "x-nul": "a\0b" }];
  if (type === "integer" || type === "number")
    return [...never, "5", true, ...(type === "integer" ? [1.5] : []), ...(minimum === undefined ? [] : [minimum - 1]), ...(maximum ? [maximum + 1] : [])];
  return [...never, "", "   ", 5, true, ["text"], "a\0b", "\ud800", ...(choices ? ["none of these"] : []), "x".repeat(70_000)];
}

/** The required fields that have no default and those that are named, with a value each. */
export const minimal = (fields: readonly Field[], named: readonly string[] = []) =>
  Object.fromEntries(
    fields
      .filter(({ name, required, default: fallback }) => (required && fallback === undefined) || named.includes(name))
      .map((each) => [each.name, aValueOf(each)]),
  );

export const full = (fields: readonly Field[]) => Object.fromEntries(fields.map((each) => [each.name, aValueOf(each)]));

export const defaults = (fields: readonly Field[]) =>
  Object.fromEntries(fields.filter((each) => each.default !== undefined).map((each) => [each.name, each.default]));
