import { type Field, limitsOf } from "./fields";

export type JsonSchema = { [keyword: string]: unknown; properties?: Record<string, JsonSchema>; required?: string[] };

/**
 * Fields as JSON Schema (draft 2020-12), with the limits that `checkFields` has. `required` names what must be sent: what has a
 * default need not.
 */
export function toJsonSchema(fields: readonly Field[], maxText: number): JsonSchema {
  const required = fields.filter((each) => each.required && each.default === undefined).map(({ name }) => name);
  const properties = Object.fromEntries(fields.map((field) => [field.name, toProperty(field, maxText)]));
  return { type: "object", properties, ...(required.length > 0 && { required }), additionalProperties: false };
}

function toProperty(field: Field, maxText: number): JsonSchema {
  const { type, default: fallback, enum: choices, description } = field;
  const item = /^array<(.+)>$/.exec(type)?.[1];
  const about = { ...(description && { description }), ...(fallback !== undefined && { default: fallback }) };
  if (!item) return { ...about, ...typeOf(type, field, maxText), ...(choices && { enum: choices }) };
  const items = { ...typeOf(item, field, maxText), ...(choices && { enum: choices }) };
  return { ...about, type: "array", items, minItems: field.required ? 1 : 0, maxItems: limitsOf(field, maxText).items };
}

function typeOf(type: string, field: Field, maxText: number): JsonSchema {
  const { minimum, maximum } = field;
  const { text, uri, email, items } = limitsOf(field, maxText);
  if (type === "integer" || type === "number") return { type, ...(minimum !== undefined && { minimum }), ...(maximum !== undefined && { maximum }) };
  if (type === "boolean") return { type };
  if (type === "object") return { type, additionalProperties: { type: "string", minLength: 1, maxLength: text }, maxProperties: items };
  if (type === "uuid") return { type: "string", format: "uuid" };
  if (type === "email") return { type: "string", format: "email", maxLength: email };
  if (type === "uri") return { type: "string", format: "uri", pattern: "^https?://", maxLength: uri };
  return { type: "string", minLength: 1, maxLength: text };
}

/** Values that `checkFields` takes: of the fields that are required or named. */
export const exampleOf = (fields: readonly Field[], named: readonly string[] = []) =>
  Object.fromEntries(fields.filter((each) => each.required || named.includes(each.name)).map((each) => [each.name, exampleValue(each)]));

const EXAMPLES: Record<string, unknown> = {
  boolean: true,
  uuid: "0193b3c0-7d1e-7c00-8000-6ab5c1d2e3f4",
  email: "ops@example.org",
  uri: "https://service.example.org",
  object: { "x-team": "platform" },
};

function exampleValue({ name, type, default: fallback, enum: choices, minimum = 1 }: Field): unknown {
  const item = /^array<(.+)>$/.exec(type)?.[1] ?? type;
  const plain = item === "integer" || item === "number" ? minimum : (EXAMPLES[item] ?? (/host$/i.test(name) ? "mail.example.org" : `your ${inWords(name)}`));
  if (item !== type) return [choices?.[0] ?? plain];
  return fallback ?? choices?.[0] ?? plain;
}

/** "appRoleSecretId" → "app role secret id" */
const inWords = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
