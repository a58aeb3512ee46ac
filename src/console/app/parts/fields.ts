import { toError } from "../errors";
export type FieldKind =
  | "text"
  | "password"
  | "secret"
  | "email"
  | "number"
  | "textarea"
  | "boolean"
  | "select"
  | "choices"
  | "lines"
  | "pairs"
  | "date"
  | "datetime"
  | "json";
export type Field = {
  name: string;
  label: string;
  kind: FieldKind;
  required?: boolean;
  hint?: string;
  options?: readonly string[];
  /** Texts of options whose names are not plain words. */
  labels?: Record<string, string>;
  /** The options are numbers. */
  isNumber?: boolean;
  placeholder?: string;
  /** Values that the browser offers while one types. */
  suggestions?: readonly string[];
};
export type Values = Record<string, unknown>;

type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: unknown;
  maximum?: number;
  enum?: (string | number)[];
  format?: string;
  writeOnly?: boolean;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
};
export type ObjectSchema = Schema;

/** The fields of a form for an object of a JSON Schema. What no simple input can hold is written as JSON. */
export const fieldsOf = ({ properties = {}, required = [] }: Schema): Field[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    label: schema.title ?? labelOf(name),
    kind: kindOf(schema),
    required: required.includes(name),
    ...hintOf(schema),
    ...(schema.enum && { options: schema.enum.map(String), isNumber: typeof schema.enum[0] === "number" }),
  }));

/** Returns the values of the fields before anything is written. */
export const defaultsOf = ({ properties = {} }: Schema): Values =>
  Object.fromEntries(Object.entries(properties).flatMap(([name, schema]) => (schema.default === undefined ? [] : [[name, schema.default]])));

/** JSON merge patch from what was there: fields that are gone are null. */
export const mergePatchOf = (before: Values, after: Values): Values => ({
  ...after,
  ...Object.fromEntries(Object.keys(before).flatMap((name) => (name in after ? [] : [[name, null]]))),
});

/** Returns the JSON merge patch with the fields that differ; those that are gone are null. */
export function changesOf(before: Values, after: Values): Values {
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value));
  const gone = Object.keys(before).filter((name) => !(name in after));
  return Object.fromEntries([...changed, ...gone.map((name) => [name, null] as const)]);
}

function hintOf({ description, items }: Schema) {
  const choices = items?.enum && `One per line: ${items.enum.join(", ")}.`;
  const hint = [description, choices].filter(Boolean).join(". ");
  return hint ? { hint } : {};
}

function kindOf({ type, enum: options, format, writeOnly, items, additionalProperties }: Schema): FieldKind {
  const [main] = [type].flat().filter((each) => each !== "null");
  if (options) return "select";
  if (writeOnly || format === "password") return "password";
  if (format === "email") return "email";
  if (format === "date-time") return "datetime";
  if (format === "date") return "date";
  if (main === "boolean") return "boolean";
  if (main === "integer" || main === "number") return "number";
  if (main === "array") return items?.type === "string" ? "lines" : "json";
  if (main !== "object") return "text";
  return typeof additionalProperties === "object" && additionalProperties.type === "string" ? "pairs" : "json";
}

const ACRONYMS = /\b(api|arn|ca|crl|eab|hmac|html|id|ip|json|jwt|kms|pem|rsa|smtp|tls|ttl|url|uri|tsa)\b/g;

/** "storePasswordRef" reads "Store password ref", "apiBaseUrl" reads "API base URL". */
export function labelOf(name: string) {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase()
    .replace(ACRONYMS, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A value as the text of its input. */
export function toText(kind: FieldKind, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (kind === "lines") return [value].flat().join("\n");
  if (kind === "pairs")
    return Object.entries(Object(value))
      .map(([key, each]) => `${key}=${each}`)
      .join("\n");
  if (kind === "json") return JSON.stringify(value, null, 2);
  if (kind === "datetime") return toLocal(String(value));
  return String(value);
}

/** Throws a sentence if the text is no such value. An empty text is undefined, but for lists. */
export function fromText({ kind, label, isNumber }: Field, text: string): unknown {
  const lines = text.split("\n").flatMap((line) => line.trim() || []);
  if (kind === "lines") return lines;
  if (kind === "pairs") return Object.fromEntries(lines.map((line) => readPair(label, line)));
  if (text === "") return;
  if (kind === "number" || isNumber) return Number(text);
  if (kind === "datetime") return new Date(text).toISOString();
  return kind === "json" ? readJson(label, text) : text;
}

function readPair(label: string, line: string): [string, string] {
  const at = line.indexOf("=");
  if (at < 1) throw new Error(`${label}: "${line}" must be a name, "=" and a value.`);
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

function readJson(label: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${label} is not JSON: ${toError(error).message}`);
  }
}

/** The reader's own time, as an input of the browser takes it. */
function toLocal(at: string) {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
