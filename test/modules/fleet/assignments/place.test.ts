import { describe, expect, test } from "bun:test";
import { BESIDE_PLACE } from "#modules/fleet/assignments/queries/place";
import { PRESET_NAMES, withPreset } from "#modules/fleet/trust-stores/rules/presets";
import { TRUST_STORE_TYPES } from "#modules/fleet/trust-stores/rules/store-types";
import { world } from "../../../support/server/world";

async function placeOf(material: string, config: object) {
  const [row] = await world.sql<{ place: string }[]>`select target_of('pem_files', ${material}, ${JSON.stringify(config)}::text::jsonb) as place`;
  return row?.place ?? "";
}

describe("the place of PEM files", () => {
  test.each(PRESET_NAMES)("by the preset %s is the one that the agent makes of it", async (preset) => {
    for (const material of ["server_certificate", "client_certificate", "trust_anchor"])
      for (const more of [
        {},
        { trustStorePath: "/srv/tls" },
        { certFileName: "a.crt" },
        { fullChainFileName: "b.crt", keyFileName: "b.key" },
        { combinedFileName: "c.pem" },
      ]) {
        const config = { preset, ...more };
        expect([more, await placeOf(material, config)]).toEqual([more, await placeOf(material, withPreset(config, "{hostname}"))]);
      }
  });

  test("is another for each preset", async () => {
    for (const material of ["server_certificate", "trust_anchor"])
      expect(new Set(await Promise.all(PRESET_NAMES.map((preset) => placeOf(material, { preset })))).size).toBe(PRESET_NAMES.length);
  });
});

test.each(BESIDE_PLACE)("the place in a store does not depend on %s", async (field) => {
  const rows = await world.sql`
    select store, material from unnest(${`{${TRUST_STORE_TYPES.join(",")}}`}::text[]) as store, unnest('{trust_anchor,server_certificate}'::text[]) as material,
      jsonb_build_object(${field}::text, 'anything') as config, gen_random_uuid() as certificate
    where (target_of(store, material, config), place_of(store, material, certificate, config)) <> (target_of(store, material, '{}'), place_of(store, material, certificate, '{}'))`;
  expect([...rows]).toEqual([]);
});
