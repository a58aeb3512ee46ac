import { describe, expect, test } from "bun:test";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { connectorOf } from "#modules/core/connectors/rules/kinds";
import { openNeeds } from "#modules/core/connectors/rules/needs";
import { defaults, full } from "../../../support/openapi/fields";
import { newOrganization } from "../../../support/server/people";

const ajv = new Ajv2020({ strict: true, allErrors: true });
addFormats(ajv);

type Schema = { properties: Record<string, Record<string, unknown>>; required?: string[]; allOf?: object[] };
type Kind = { kind: string; test: string; experimental: string | null; example: Record<string, unknown> } & Record<
  "config" | "secrets" | "settings" | "needs",
  Schema
>;

const organization = await newOrganization();
const kindsOf = async (thing: string): Promise<Kind[]> => (await organization.member("GET", `/core/${thing}-kinds`)).body.items;
const connectionKinds = await kindsOf("connection");
const widgetKinds = await kindsOf("widget");

/** What is no value of a field, whatever its limits. */
const WRONG: Record<string, unknown> = { string: 5, integer: 1.5, number: "1", boolean: "true", array: "a", object: [] };

/** Holds the schema of a part of a body against the server: both take the example, both refuse another field, and another type of each field. */
async function agrees(path: string, { example, ...kind }: Kind, part: "config" | "secrets" | "settings") {
  const isValid = ajv.compile(kind[part]);
  const { [part]: given = {} } = example as Record<string, Record<string, unknown>>;
  const send = async (values: object) => (await organization.admin("POST", path, { body: { ...example, [part]: values, ...unique() } })).status;
  const unique = () => ("name" in example ? { name: crypto.randomUUID() } : {});
  expect({ given, isValid: isValid(given), status: await send(given) }).toEqual({ given, isValid: true, status: 201 });
  const wrong = [{ ...given, another: 1 }, ...Object.entries(kind[part].properties).map(([name, { type }]) => ({ ...given, [name]: WRONG[String(type)] }))];
  const missing = (kind[part].required ?? []).map((name) => Object.fromEntries(Object.entries(given).filter(([each]) => each !== name)));
  for (const values of [...wrong, ...missing])
    expect({ values, isValid: isValid(values), status: await send(values) }).toEqual({ values, isValid: false, status: 400 });
}

describe("GET …/core/connection-kinds", () => {
  test("200 lists every kind with what its test finds out; those are experimental whose test was tried with no such service", () => {
    expect(connectionKinds).toHaveLength(21);
    const tested = Object.fromEntries(connectionKinds.map((each) => [each.kind, each.test]));
    expect(tested).toMatchObject({ github: "credentials", smtp: "credentials", step_ca: "reachability", webhook: "message" });
    const experimental = connectionKinds.filter((each) => each.experimental !== null).map((each) => each.kind);
    expect(experimental).toEqual(["aws_acm", "aws_acm_pca", "azure_key_vault", "google_cas"]);
  });

  test.each(connectionKinds.map((kind) => [kind.kind, kind] as const))("%s: the schemas and the server take and refuse the same", async (_, kind) => {
    await agrees("/core/connections", kind, "config");
    await agrees("/core/connections", kind, "secrets");
  });

  test.each(connectionKinds.map((kind) => [kind.kind, kind] as const))("%s: what is needed with what is in the schema, and in the example", (key, kind) => {
    const { configFields, secretFields, needs = [] } = connectorOf(key);
    const isValid = ajv.compile(kind.needs);
    expect(isValid(kind.example)).toBe(true);
    for (const { field, where, is } of needs) {
      const whole = { config: { ...full(configFields), ...(is && { [where]: is }) }, secrets: full(secretFields) };
      const without = (...names: string[]) => JSON.parse(JSON.stringify(whole, (name, value) => (names.includes(name) ? undefined : value))) as typeof whole;
      for (const { config, secrets } of [whole, without(field), without(where), without(field, where)]) {
        const isMet = openNeeds(connectorOf(key), { ...defaults(configFields), ...config, ...secrets }).length === 0;
        expect({ config, secrets, isMet: isValid({ config, secrets }) }).toEqual({ config, secrets, isMet });
      }
      expect([isValid(whole), isValid(without(field))]).toEqual([true, false]);
    }
  });
});

describe("GET …/core/widget-kinds", () => {
  test("200 lists every kind", () => {
    expect(widgetKinds).toHaveLength(12);
  });

  test.each(widgetKinds.map((kind) => [kind.kind, kind] as const))("%s: the schema and the server take and refuse the same", async (_, kind) => {
    await agrees("/core/widgets", kind, "settings");
  });
});
