import { describe, expect, test } from "bun:test";
import { KINDS, WIDGETS } from "#modules/core/widgets/rules/kinds";
import { defaults, full, minimal, wrongValuesOf } from "../../../support/openapi/fields";
import { addWidget, show } from "../../../support/server/dashboards";
import { newOrganization } from "../../../support/server/people";

const organization = await newOrganization();
const create = (kind: string, settings: object) =>
  organization.admin("POST", "/core/widgets", { body: { kind, title: "x", dashboard: crypto.randomUUID(), settings } });

test("the catalogue has the kinds that the interface names", () => {
  expect(WIDGETS.map((each) => each.key)).toEqual([...KINDS]);
});

describe.each(WIDGETS.map((each) => [each.key, each] as const))("POST /organizations/{organizationId}/core/widgets of kind %s", (kind, widget) => {
  const least = minimal(widget.settings);

  test("201 with what is required and no more, defaults in place, in its own size", async () => {
    const made = await addWidget(organization, kind, least, { dashboard: crypto.randomUUID() });
    expect(made.settings).toEqual({ ...defaults(widget.settings), ...least });
    expect(made.position).toEqual({ x: 0, y: 0, ...widget.defaultSize });
  });

  test("201 with every setting, each of its choices and both ends of its range", async () => {
    const settings = full(widget.settings);
    expect((await create(kind, settings)).body.settings).toEqual(settings);
    for (const { name, enum: choices = [], minimum, maximum } of widget.settings)
      for (const value of [...choices, minimum, maximum].filter((each) => each !== undefined))
        expect({ value, status: (await create(kind, { ...settings, [name]: value })).status }).toEqual({ value, status: 201 });
  });

  test("400 without each required setting, named", async () => {
    for (const name of Object.keys(least)) {
      const { [name]: _, ...rest } = least;
      expect(await create(kind, rest)).toMatchObject({ status: 400, body: { message: `body.settings.${name} is required for ${kind}.` } });
    }
  });

  test("400 for each setting of a wrong type, length or range, named", async () => {
    for (const setting of widget.settings)
      for (const wrong of wrongValuesOf(setting)) {
        const answer = await create(kind, { ...least, [setting.name]: wrong });
        expect({ wrong: JSON.stringify(wrong).slice(0, 50), setting: setting.name, status: answer.status }).toMatchObject({ status: 400 });
        expect(answer.body.message).toStartWith(`body.settings.${setting.name} must `);
      }
  });

  test("200 its data in an empty organization, with every choice of its settings", async () => {
    const empty = await newOrganization();
    await show(empty, kind, least);
    await show(empty, kind, full(widget.settings));
    for (const { name, enum: choices = [], minimum, maximum } of widget.settings)
      for (const value of [...choices, minimum, maximum].filter((each) => each !== undefined)) await show(empty, kind, { ...least, [name]: value });
  });
});
