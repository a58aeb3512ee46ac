import { bodiesByKind, type OneKind } from "./by-kind";
import type { Json } from "./json";

// What OpenAPI 3.0 does not know, or says in other words.
const FOREIGN = new Set(["$id", "anyOf", "const", "contentMediaType", "examples", "hasTag", "noValidate", "patternProperties", "title"]);
/** These hold values, not schemas. */
const VALUES = new Set(["default", "enum", "required"]);

/**
 * Rewrites TypeBox's JSON Schema as OpenAPI 3.0: enum for const, nullable for null, example for examples. A titled schema moves
 * to `named`; one with `kinds` becomes a choice of one for each.
 */
export function mendSchema(schema: Json, named: Json): Json {
  const { title } = schema;
  if (typeof title !== "string") return mendInline(schema, named);
  const mended = Array.isArray(schema.kinds) ? mendKinds(schema, schema.kinds, named) : mendInline(schema, named);
  if (named[title] && !Bun.deepEquals(named[title], mended)) throw new Error(`Two schemas have the title ${title}.`);
  named[title] = mended;
  return { $ref: `#/components/schemas/${title}` };
}

function mendInline(schema: Json, named: Json): Json {
  const mended: Json = {};
  for (const [key, value] of Object.entries(schema)) if (!FOREIGN.has(key)) mended[key] = VALUES.has(key) ? value : mendValue(key, value, named);
  if (schema.const !== undefined) Object.assign(mended, { type: typeof schema.const, enum: [schema.const] });
  if (Array.isArray(schema.examples)) mended.example = schema.examples[0];
  if (schema.patternProperties) mended.additionalProperties = mendSchema(Object.values(schema.patternProperties)[0], named);
  return Array.isArray(schema.anyOf) ? { ...mended, ...mendUnion(schema.anyOf, named) } : mended;
}

/** A client knows by `kind` which of the bodies it is. */
function mendKinds(schema: Json, kinds: OneKind[], named: Json): Json {
  const bodies = bodiesByKind(schema, kinds).map(([kind, body]) => [kind, mendSchema(body, named)] as const);
  const mapping = Object.fromEntries(bodies.map(([kind, { $ref }]) => [kind, $ref]));
  return { oneOf: bodies.map(([, reference]) => reference), discriminator: { propertyName: "kind", mapping } };
}

function mendValue(key: string, value: unknown, named: Json): unknown {
  if (Array.isArray(value)) return value.map((each) => mendValue(key, each, named));
  if (value === null || typeof value !== "object") return value;
  if (key !== "properties") return mendSchema(value as Json, named);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, mendSchema(each, named)]));
}

function mendUnion(choices: Json[], named: Json): Json {
  const real = choices.filter((each) => each.type !== "null");
  const isNullable = real.length < choices.length;
  const literals = real.flatMap((each) => each.const ?? []);
  if (literals.length === real.length) return { type: typeof literals[0], enum: literals };
  const [only] = real;
  if (isNullable && only && real.length === 1) return nullable(mendInline(only, named));
  return { anyOf: [...real.map((each) => mendSchema(each, named)), ...(isNullable ? [nullable({ type: "string", enum: [] })] : [])] };
}

/** An enum must name null too. */
const nullable = (schema: Json): Json => ({ ...schema, nullable: true, ...(Array.isArray(schema.enum) && { enum: [...schema.enum, null] }) });
