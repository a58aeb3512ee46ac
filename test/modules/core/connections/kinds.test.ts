import { describe, expect, test } from "bun:test";
import { CONNECTORS, KINDS } from "#modules/core/connections/rules/kinds";
import { aValueOf, defaults, full, minimal, wrongValuesOf } from "../../../support/openapi/fields";
import { newOrganization } from "../../../support/server/people";

const PATH = "/core/connections";
const organization = await newOrganization();
const create = (body: object) => organization.admin("POST", PATH, { body: { name: crypto.randomUUID(), ...body } });

test("the catalogue has the kinds that the interface names", () => {
  expect(CONNECTORS.map((each) => each.key)).toEqual([...KINDS]);
});

describe.each(CONNECTORS.map((each) => [each.key, each] as const))("POST /organizations/{organizationId}/core/connections of kind %s", (kind, connector) => {
  const { configFields, secretFields } = connector;
  const least = { kind, config: minimal(configFields), secrets: minimal(secretFields) };

  test("201 with what is required and no more, defaults in place", async () => {
    const answer = await create(least);
    expect(answer).toMatchObject({ status: 201, body: { kind, secretNames: Object.keys(least.secrets) } });
    expect(answer.body.config).toEqual({ ...defaults(configFields), ...least.config });
  });

  test("201 with every field", async () => {
    const [config, secrets] = [full(configFields), full(secretFields)];
    const answer = await create({ kind, config, secrets });
    expect(answer).toMatchObject({ status: 201, body: { config } });
    expect(answer.body.secretNames.toSorted()).toEqual(Object.keys(secrets).toSorted());
  });

  test("400 without each required field, named", async () => {
    for (const part of ["config", "secrets"] as const)
      for (const name of Object.keys(least[part])) {
        const { [name]: _, ...rest } = least[part];
        expect(await create({ ...least, [part]: rest })).toMatchObject({ status: 400, body: { message: `body.${part}.${name} is required for ${kind}.` } });
      }
  });

  test("400 for each field of a wrong type, length or range, named", async () => {
    const all = { config: full(configFields), secrets: full(secretFields) };
    const fields = [...configFields.map((each) => ["config", each] as const), ...secretFields.map((each) => ["secrets", each] as const)];
    for (const [part, field] of fields)
      for (const wrong of wrongValuesOf(field)) {
        const answer = await create({ kind, ...all, [part]: { ...all[part], [field.name]: wrong } });
        expect({ wrong: JSON.stringify(wrong)?.slice(0, 50), field: field.name, status: answer.status }).toMatchObject({ status: 400 });
        expect(answer.body.message).toStartWith(`body.${part}.${field.name} must `);
      }
  });

  test("400 for a field of another kind", async () => {
    expect((await create({ ...least, config: { ...least.config, flavour: aValueOf({ name: "x", type: "string", required: false }) } })).body.message).toBe(
      `body.config.flavour is not a known field of ${kind}.`,
    );
  });
});
