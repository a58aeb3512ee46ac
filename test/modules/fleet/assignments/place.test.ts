import { describe, expect, test } from "bun:test";
import { PRESET_NAMES, withPreset } from "#modules/fleet/trust-stores/rules/presets";
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
