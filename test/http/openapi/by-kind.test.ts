import { describe, expect, test } from "bun:test";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { newOrganization } from "../../support/server/people";
import { world } from "../../support/server/world";

type Schema = { [keyword: string]: unknown; properties: Record<string, Schema> };
type Choice = { oneOf: { $ref: string }[]; discriminator: { propertyName: string; mapping: Record<string, string> } };
type Kind = { kind: string } & Record<string, Schema>;

const document = JSON.parse(await (await fetch(`${world.url}/swagger/json`)).text());
const ajv = addFormats.default(new Ajv({ strict: false, allErrors: true }));
const organization = await newOrganization();
const kindsOf = async (thing: string): Promise<Kind[]> => (await organization.member("GET", `/core/${thing}-kinds`)).body.items;

describe.each([
  ["connection", ["config", "secrets"], await kindsOf("connection"), { kind: "slack", name: "x", config: { mode: "bot_token", channelId: "C1" } }],
  ["widget", ["settings"], await kindsOf("widget"), { kind: "control_status_trend", title: "x", settings: { frameworkKey: "iso", rangeDays: 30 } }],
] as const)("the body of POST …/core/%ss", (thing, parts, kinds, body) => {
  const path = `/core/${thing}s`;
  const { $ref } = document.paths[`/organizations/{organizationId}${path}`].post.requestBody.content["application/json"].schema;
  const schemaOf = (reference: string) => document.components.schemas[reference.split("/").at(-1) ?? ""];
  const { oneOf, discriminator }: Choice = schemaOf($ref);
  const isValid = ajv.compile({ $ref, components: document.components });

  test("is one of a body for each kind, which a client finds by kind", () => {
    expect(discriminator.propertyName).toBe("kind");
    expect(Object.keys(discriminator.mapping)).toEqual(kinds.map((each) => each.kind));
    expect(oneOf).toEqual(Object.values(discriminator.mapping).map((reference) => ({ $ref: reference })));
  });

  test.each(kinds.map((kind) => [kind.kind, kind] as const))(
    "of kind %s has the fields that the list of kinds shows, and an example that is taken",
    async (name, kind) => {
      const body: Schema = schemaOf(discriminator.mapping[name] ?? "");
      expect(body.properties.kind?.enum).toEqual([name]);
      for (const part of parts) {
        expect(body.properties[part]).toMatchObject(kind[part] as Schema);
        expect((body.required as string[]).includes(part)).toBe(Boolean(kind[part]?.required));
        for (const field of Object.values(kind[part]?.properties ?? {})) expect(field.writeOnly).toBe(part === "secrets" ? true : undefined);
      }
      expect({ example: body.example, isValid: isValid(body.example), errors: isValid.errors }).toEqual({ example: body.example, isValid: true, errors: null });
      expect((await organization.admin("POST", path, { body: body.example as object })).status).toBe(201);
    },
  );

  test("takes no body of a kind with the fields of another, and none of an unknown kind", () => {
    expect(isValid(body)).toBe(true);
    for (const { kind } of kinds.filter((each) => each.kind !== body.kind))
      expect({ kind, isValid: isValid({ ...body, kind }) }).toEqual({ kind, isValid: false });
    expect(isValid({ ...body, kind: "another" })).toBe(false);
  });
});
