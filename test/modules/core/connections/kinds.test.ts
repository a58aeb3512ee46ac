import { describe, expect, test } from "bun:test";

import { connectionFacts, connectionFactsJson } from "#modules/core/connectors/queries";
import { CONNECTORS, KINDS } from "#modules/core/connectors/rules/kinds";
import { openNeeds } from "#modules/core/connectors/rules/needs";
import { aValueOf, defaults, full, minimal, wrongValuesOf } from "../../../support/openapi/fields";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const PATH = "/core/connections";
const organization = await newOrganization();
const sentence = (part: string, name: string) => new RegExp(`^body\\.${part}\\.${name} is required for \\w+( where \\w+ is \\w+)?\\.$`);
const create = (body: object) => organization.admin("POST", PATH, { body: { name: crypto.randomUUID(), ...body } });

test("the catalogue has the kinds that the interface names", () => {
  expect(CONNECTORS.map((each) => each.key)).toEqual([...KINDS]);
});

/** Takes a field out of the config of a connection, which is stamped without it. */
async function leaveOut(id: string, field: string) {
  const [row] = await world.sql<{ facts: Parameters<typeof connectionFacts>[0] }[]>`
    update connections set config = config - ${field}::text where id = ${id} returning ${connectionFactsJson(world.sql)} as facts`;
  if (row) await world.sql`update connections set stamp = ${world.deps.stamps.of(connectionFacts(row.facts))}::bytea where id = ${id}`;
}

describe.each(CONNECTORS.map((each) => [each.key, each] as const))("POST /organizations/{organizationId}/core/connections of kind %s", (kind, connector) => {
  const { configFields, secretFields, needs = [] } = connector;
  const needed = openNeeds(connector, { ...defaults(configFields), ...minimal(configFields) }).map(({ field }) => field);
  const least = { kind, config: minimal(configFields, needed), secrets: minimal(secretFields, needed) };

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
        const { status, body } = await create({ ...least, [part]: rest });
        expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringMatching(sentence(part, name)) });
      }
  });

  test("400 for what cannot work, at creation and change: a field that others need is named; a new name is taken", async () => {
    for (const { field, where, is } of needs) {
      const all = { config: full(configFields), secrets: full(secretFields) };
      const whole = { ...all, config: { ...all.config, ...(is && { [where]: is }) } };
      const part = field in all.config ? "config" : "secrets";
      const { [field]: _, ...rest } = whole[part];
      const fault = {
        status: 400,
        body: { message: expect.stringMatching(new RegExp(`^body\\.${part}\\.${field} is required for ${kind} where \\w+ is ${is ?? "there"}\\.$`)) },
      };
      expect(await create({ kind, ...whole, [part]: rest })).toMatchObject(fault);
      const { status, body } = await create({ kind, ...whole });
      expect(status).toBe(201);
      const patch = (change: object) => organization.admin("PATCH", `${PATH}/${body.id}`, { body: change });
      expect(await patch({ secrets: whole.secrets, [part]: { ...(part === "secrets" && whole.secrets), [field]: null } })).toMatchObject(fault);
      await leaveOut(body.id, field); // as a release before may have taken it
      expect((await patch({ name: crypto.randomUUID() })).status).toBe(200);
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
