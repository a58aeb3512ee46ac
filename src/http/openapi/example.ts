type Schema = {
  type?: string;
  format?: string;
  examples?: unknown[];
  default?: unknown;
  const?: unknown;
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  minimum?: number;
};

const ID = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";
// The demo's ids, so that the page's forms work at once on `serve --demo`.
const IDS: Record<string, string> = {
  organizationId: "0193b3c0-0000-7000-8000-00000000d350",
  "x-organization-id": "0193b3c0-0000-7000-8000-00000000d350",
  "x-user-id": "0193b3c0-0000-7000-8000-0000000000ad",
};
const FORMATS: Record<string, string> = {
  "date-time": "2030-01-31T12:00:00.000Z",
  email: "ada@certitude.example",
  uri: "https://certitude.example/",
};

/** A value that a TypeBox schema allows: its own example where it has one, else one made of its parts. */
export function exampleOf(schema: Schema, name = ""): unknown {
  if (schema.examples) return schema.examples[0];
  const fixed = schema.default ?? schema.const;
  if (fixed !== undefined) return fixed;
  return schema.anyOf ? exampleOfUnion(schema.anyOf) : (MAKERS[schema.type ?? ""]?.(schema, name) ?? null);
}

const exampleOfNumber = ({ minimum = 1 }: Schema) => Math.max(minimum, 1);

const MAKERS: Record<string, (schema: Schema, name: string) => unknown> = {
  object: exampleOfObject,
  array: ({ items }) => (items ? [exampleOf(items)] : []),
  boolean: () => false,
  integer: exampleOfNumber,
  number: exampleOfNumber,
  string: ({ format = "" }, name) => FORMATS[format] ?? (format === "uuid" || name.endsWith("Id") ? (IDS[name] ?? ID) : "text"),
};

/** Returns null for a nullable schema without an example of its own. */
function exampleOfUnion(choices: Schema[]) {
  const [first] = choices;
  return !first || (choices.some((each) => each.type === "null") && !first.examples) ? null : exampleOf(first);
}

/** Leaves out optional fields without an example of their own. */
function exampleOfObject({ properties = {}, required = [] }: Schema) {
  const shown = Object.entries(properties).filter(([name, each]) => required.includes(name) || each.examples || each.default !== undefined);
  return Object.fromEntries(shown.map(([name, each]) => [name, exampleOf(each, name)]));
}
