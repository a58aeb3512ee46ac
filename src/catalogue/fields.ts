import { isUuid } from "#text/uuid";

/** A field as the catalogues describe it. */
export type Field = {
  name: string;
  type: string;
  required: boolean;
  default?: unknown;
  enum?: readonly unknown[] | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  description?: string;
};

/** The fields of a thing by name. */
export type Values = Record<string, unknown>;
type Read = { value: unknown } | { fault: string };
type Rules = {
  /** The place of the fields ("body.config") and their owner ("acme"), for the sentence. */
  at: string;
  owner: string;
  /** Characters of a text; a document (PEM, JSON) may be longer. */
  maxText?: number;
  /** Returns an address's fault, beyond its form. */
  uriFault?: (url: URL) => string | undefined;
};

export const MAX_TEXT = 200;
const MAX_ITEMS = 100;
const MAX_DOCUMENT = 65_536;
const MAX_URI = 2_000;
const MAX_EMAIL = 254;
const EMAIL = /^[^\s@]+@[^\s@][^\s@.]*\.[^\s@]+$/;

/** How much a field takes: characters of a text, an address and an e-mail address, and items of a list or an object. */
export const limitsOf = ({ name }: Field, maxText: number) => ({
  text: /(Pem|Json)$/.test(name) ? MAX_DOCUMENT : maxText,
  uri: MAX_URI,
  email: MAX_EMAIL,
  items: MAX_ITEMS,
});

/** The fields' values with defaults in place, or the first fault as a sentence that names its field. */
export function checkFields(fields: readonly Field[], given: Values, rules: Rules): { values: Values } | { invalid: string } {
  const known = new Set(fields.map((each) => each.name));
  const unknown = Object.keys(given).find((name) => !known.has(name));
  if (unknown !== undefined) return { invalid: `${rules.at}.${unknown.slice(0, 100)} is not a known field of ${rules.owner}.` };
  const values: [string, unknown][] = [];
  for (const field of fields) {
    const value = Object.hasOwn(given, field.name) ? given[field.name] : field.default;
    if (value === undefined && field.required) return { invalid: `${rules.at}.${field.name} is required for ${rules.owner}.` };
    if (value === undefined) continue;
    const read = readValue(field, value, rules);
    if ("fault" in read) return { invalid: `${rules.at}.${field.name} ${read.fault}.` };
    values.push([field.name, read.value]);
  }
  return { values: Object.fromEntries(values) };
}

type Reader = (value: unknown, field: Field, rules: Rules) => Read;

const READERS: Record<string, Reader> = {
  string: readText,
  integer: (value, field) => readNumber(value, field, Number.isSafeInteger(value), "a whole number"),
  number: (value, field) => readNumber(value, field, Number.isFinite(value), "a number"),
  boolean: (value) => (typeof value === "boolean" ? { value } : { fault: "must be true or false" }),
  uuid: (value) => (isUuid(value) ? { value: value.toLowerCase() } : { fault: "must be a UUID" }),
  email: (value) => (typeof value === "string" && value.length <= MAX_EMAIL && EMAIL.test(value) ? { value } : { fault: "must be an e-mail address" }),
  uri: readUri,
  object: readObject,
};

function readValue(field: Field, value: unknown, rules: Rules): Read {
  const item = /^array<(.+)>$/.exec(field.type)?.[1];
  if (item) return readList({ ...field, type: item }, value, rules);
  const reader = READERS[field.type];
  if (!reader) throw new Error(`The catalogue's field ${field.name} has the unknown type ${field.type}.`);
  const read = reader(value, field, rules);
  if (!("fault" in read) && field.enum && !field.enum.includes(read.value)) return { fault: `must be one of ${field.enum.join(", ")}` };
  return read;
}

function readText(value: unknown, field: Field, { maxText = MAX_TEXT }: Rules): Read {
  const { text: max } = limitsOf(field, maxText);
  const text = typeof value === "string" && value.isWellFormed() && !value.includes("\0") ? value.trim() : "";
  return text.length > 0 && [...text].length <= max ? { value: text } : { fault: `must be text of 1 to ${max} characters, without NUL` };
}

function readNumber(value: unknown, { minimum, maximum }: Field, isOne: boolean, noun: string): Read {
  if (isOne && (minimum === undefined || Number(value) >= minimum) && (maximum === undefined || Number(value) <= maximum)) return { value };
  if (minimum === undefined) return { fault: `must be ${noun}` };
  return { fault: maximum === undefined ? `must be ${noun} of at least ${minimum}` : `must be ${noun} from ${minimum} to ${maximum}` };
}

function readUri(value: unknown, field: Field, rules: Rules): Read {
  const text = readText(value, field, { ...rules, maxText: MAX_URI });
  if ("fault" in text) return text;
  const url = /[\s\p{Cc}\\]/u.test(String(text.value)) ? null : URL.parse(String(text.value));
  if (!url || !["https:", "http:"].includes(url.protocol)) return { fault: "must be an absolute URL that starts with https:// or http://" };
  if (url.username || url.password) return { fault: "must not hold a user name or password" };
  const fault = rules.uriFault?.(url);
  return fault === undefined ? text : { fault };
}

function readList(field: Field, value: unknown, rules: Rules): Read {
  const least = field.required ? 1 : 0;
  if (!Array.isArray(value) || value.length < least || value.length > MAX_ITEMS) return { fault: `must be a list of ${least} to ${MAX_ITEMS} items` };
  const reads = value.map((each) => readValue(field, each, rules));
  const fault = reads.find((each) => "fault" in each);
  return fault ?? { value: reads.map((each) => ("value" in each ? each.value : undefined)) };
}

/** A flat object of texts, such as HTTP headers. */
function readObject(value: unknown, field: Field, rules: Rules): Read {
  const entries = value !== null && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : [];
  const isFlat = value !== null && typeof value === "object" && !Array.isArray(value) && entries.length <= MAX_ITEMS;
  const isText = (each: unknown) => "value" in readText(each, field, rules);
  if (!isFlat || !entries.flat().every(isText)) return { fault: `must be an object of at most ${MAX_ITEMS} texts` };
  return { value };
}
