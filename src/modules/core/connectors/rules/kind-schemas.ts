import { exampleOf, type JsonSchema, toJsonSchema } from "#catalogue/json-schema";
import { BY_MESSAGE, CONNECTORS, type Connector, type Kind } from "./kinds";
import { needsSchema, openNeeds } from "./needs";
import { MAX_CONFIG_TEXT, MAX_SECRET } from "./settings";

export const TESTS = ["credentials", "reachability", "message"] as const;

/** Returns the kind of a connection's test: are its credentials accepted, does it answer, or does a message arrive. */
const testOf = ({ key, verify }: Connector): (typeof TESTS)[number] => {
  if (BY_MESSAGE.includes(key as Kind)) return "message";
  return verify?.checksCredentials === false ? "reachability" : "credentials";
};

/** Properties that are sent, and that no answer shows. */
const hidden = ({ properties = {}, ...schema }: JsonSchema) => ({
  ...schema,
  properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, { ...each, writeOnly: true }])),
});

/** The fields that are required, or needed with the values that those have. */
function exampleSettings(connector: Connector) {
  const { configFields, secretFields } = connector;
  const defaults = configFields.map(({ name, default: value }) => [name, value] as const);
  const needed = openNeeds(connector, { ...Object.fromEntries(defaults), ...exampleOf(configFields) }).map(({ field }) => field);
  return { config: exampleOf(configFields, needed), secrets: exampleOf(secretFields, needed) };
}

export const connectionKinds = CONNECTORS.map((connector) => {
  const { key: kind, displayName, category, note = null, experimental = null, configFields, secretFields } = connector;
  return {
    kind,
    displayName,
    category,
    note,
    test: testOf(connector),
    experimental,
    config: toJsonSchema(configFields, MAX_CONFIG_TEXT),
    secrets: hidden(toJsonSchema(secretFields, MAX_SECRET)),
    needs: needsSchema(connector),
    example: { kind, name: displayName, ...exampleSettings(connector) },
  };
});
