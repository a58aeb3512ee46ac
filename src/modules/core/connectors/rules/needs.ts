import type { Field, Values } from "#catalogue/fields";
import type { JsonSchema } from "#catalogue/json-schema";
import type { Connector, Need } from "./kinds";

const isIn = (fields: readonly Field[], name: string) => fields.some((each) => each.name === name);
const partOf = ({ configFields }: Connector, name: string) => (isIn(configFields, name) ? "config" : "secrets");

/** The needs of a kind that values, defaults included, leave open. */
export const openNeeds = ({ needs = [] }: Connector, values: Values) =>
  needs.filter(({ field, where, is }) => values[field] === undefined && (is === undefined ? values[where] !== undefined : values[where] === is));

/** The first need that a connection leaves open, as a sentence. */
export function needsFault(connector: Connector, { config, secrets }: { config: Values; secrets: Values }) {
  const [open] = openNeeds(connector, { ...secrets, ...config });
  if (!open) return;
  const { field, where, is } = open;
  return `body.${partOf(connector, field)}.${field} is required for ${connector.key} where ${where} is ${is ?? "there"}.`;
}

/** The needs of a kind as JSON Schema of its config and its secrets together. */
export function needsSchema(connector: Connector): JsonSchema {
  const has = (name: string) => within(partOf(connector, name), { properties: { [name]: {} }, required: [name] });
  const { needs = [], configFields } = connector;
  const condition = ({ where, is }: Need) => {
    if (is === undefined) return has(where);
    const isDefault = configFields.some((each) => each.name === where && each.default === is);
    return within("config", { properties: { [where]: { const: is } }, ...(!isDefault && { required: [where] }) }, !isDefault);
  };
  return { type: "object", ...(needs.length > 0 && { allOf: needs.map((need) => ({ anyOf: [{ not: condition(need) }, has(need.field)] })) }) };
}

const within = (part: string, rule: JsonSchema, isRequired = true): JsonSchema => ({
  type: "object",
  properties: { [part]: { type: "object", ...rule } },
  ...(isRequired && { required: [part] }),
});
