import fc, { type Arbitrary } from "fast-check";
import { resolve, type Schema } from "../support/openapi/document";

/** A spot in a body, with what the document says of it there. */
export type Place = { steps: (string | number)[]; schema: Schema; value: unknown };

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === "object" && !Array.isArray(value);

/** Every spot of a value, the whole first. */
export function placesIn(value: unknown, named: Schema | undefined, steps: Place["steps"] = []): Place[] {
  const schema = pick(resolve(named), value);
  const inside = isObject(value)
    ? Object.entries(value).flatMap(([key, each]) => placesIn(each, propertyOf(schema, key), [...steps, key]))
    : Array.isArray(value)
      ? value.flatMap((each, index) => placesIn(each, schema.items, [...steps, index]))
      : [];
  return [{ steps, schema, value }, ...inside];
}

const propertyOf = ({ properties = {}, additionalProperties }: Schema, key: string) =>
  properties[key] ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);

/** Of several shapes, the one that the value has. */
function pick(schema: Schema, value: unknown): Schema {
  if (schema.oneOf && isObject(value)) return schema.oneOf.map(resolve).find(({ properties }) => properties?.kind?.enum?.includes(value.kind)) ?? schema;
  const choices = schema.anyOf?.map(resolve) ?? [];
  const type = Array.isArray(value) ? "array" : typeof value;
  return choices.find((each) => each.type === type) ?? choices[0] ?? schema;
}

const HOLE = "\u2063hole\u2063";
const HOLE_TEXT = JSON.stringify(HOLE);

/** The JSON text of `value` with `raw`, which need not be JSON, at one place. */
export function plant(value: unknown, steps: Place["steps"], raw: string) {
  const copy = { root: structuredClone(value) };
  const [last = "root", ...way] = ["root", ...steps].toReversed();
  const parent = way.toReversed().reduce<Record<string | number, unknown>>((each, step) => each[step] as Record<string | number, unknown>, copy);
  parent[last] = HOLE;
  return JSON.stringify(copy.root).replace(HOLE_TEXT, () => raw);
}

/** The JSON text of `value` with `member`, a raw `"key":value`, as the first or last of the object at `steps`. */
export function addMember(value: unknown, { steps, value: object }: Place, member: string, first = false) {
  const text = JSON.stringify(object);
  if (text === "{}") return plant(value, steps, `{${member}}`);
  return plant(value, steps, first ? `{${member},${text.slice(1)}` : `${text.slice(0, -1)},${member}}`);
}

const word = fc.string({ unit: fc.constantFrom(..."abcäöß日本語🦀-_.'\"\\%&:*|!<>() 019"), minLength: 1 });
const day = fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });

const FORMATS: Record<string, Arbitrary<string>> = {
  uuid: fc.uuid().map((id) => (id.charCodeAt(0) % 2 ? id : id.toUpperCase())),
  "date-time": day.map((each) => each.toISOString()),
  date: day.map((each) => each.toISOString().slice(0, 10)),
  email: fc.emailAddress(),
  uri: fc.webUrl(),
};

function strings({ format = "", minLength = 0, maxLength = 60 }: Schema) {
  const max = Math.min(maxLength, 300);
  const fill = (value: string) => value.trim().padEnd(minLength, "x").slice(0, max).toWellFormed();
  return FORMATS[format] ?? fc.oneof(word.map(fill), fc.string({ unit: "grapheme", maxLength: max }).map(fill), fc.constant("x".repeat(max)));
}

function numbers({ type, minimum = -1e9, maximum = 1e9 }: Schema) {
  const edges = fc.constantFrom(minimum, maximum);
  if (type === "integer") return fc.oneof(edges, fc.integer({ min: Math.max(minimum, -(2 ** 31)), max: Math.min(maximum, 2 ** 31 - 1) }));
  return fc.oneof(edges, fc.double({ min: minimum, max: maximum, noNaN: true }));
}

function objects({ properties = {}, required = [], additionalProperties }: Schema, depth: number): Arbitrary<unknown> {
  const known = fc.record(Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, valuesOf(each, depth - 1)])), {
    requiredKeys: required,
    noNullPrototype: true,
  });
  if (typeof additionalProperties !== "object" || Object.keys(properties).length > 0) return known;
  return fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/), valuesOf(additionalProperties, depth - 1), { maxKeys: 5, noNullPrototype: true });
}

/** Values that a schema of the document allows, the odd ones too. */
export function valuesOf(named: Schema | undefined, depth = 6): Arbitrary<unknown> {
  const schema = resolve(named);
  if (schema.nullable) return fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 4, arbitrary: valuesOf({ ...schema, nullable: false }, depth) });
  if (schema.enum) return fc.constantFrom(...schema.enum.filter((each) => each !== null));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map((each) => valuesOf(each, depth)));
  if (schema.type === "object") return objects(schema, depth);
  if (schema.type === "array")
    return depth <= 0
      ? fc.constant([])
      : fc.array(valuesOf(schema.items, depth - 1), { minLength: schema.minItems ?? 0, maxLength: Math.max(schema.minItems ?? 0, 4) });
  if (schema.type === "boolean") return fc.boolean();
  if (schema.type === "integer" || schema.type === "number") return numbers(schema);
  return schema.type === "string" ? strings(schema) : fc.jsonValue({ maxDepth: 2 });
}
