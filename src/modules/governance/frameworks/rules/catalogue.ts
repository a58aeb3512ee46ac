import catalogJson from "./catalog.json";

export const FRAMEWORKS = ["euaiact", "nist", "iso"] as const;
export type FrameworkKey = (typeof FRAMEWORKS)[number];

// The words of the EU AI Act: whom a control binds, what it is about, and since when in which case.
export const ROLES = ["provider", "deployer", "importer", "distributor", "gpai_provider"] as const;
export const SCOPES = ["all", "prohibited", "high_risk", "transparency", "gpai", "gpai_systemic"] as const;
export const CASES = [
  "always",
  "annex_i",
  "annex_iii",
  "with_the_classification_of_art_6",
  "practice_added_by_2026/1744",
  "placed_on_market_before_2025-08-02",
  "placed_on_market_before_2026-08-02",
] as const;

type Described = { ref: string; title: string; group: string; summary: string };
type Applicability = { roles?: (typeof ROLES)[number][]; scope?: (typeof SCOPES)[number]; applies?: { when: (typeof CASES)[number]; from: string }[] };
type Source = { key: string; name: string; version: string; publisher: string; sourceUrl: string; controls: (Described & Applicability)[] };

const catalog = catalogJson as Source[];

/** The namespace of control ids. An id is made from framework and reference, so that it is the same everywhere and for ever. */
const CONTROLS = "de91e746-1c19-4d62-ae50-aec2c4c7e92f";

export const frameworks = FRAMEWORKS.map(readFramework);
type Framework = (typeof frameworks)[number];
export type CatalogueControl = Framework["controls"][number];

function readFramework(key: FrameworkKey) {
  const framework = catalog.find((each) => each.key === key);
  if (!framework) throw new Error(`The catalogue has no framework ${key}.`);
  return { ...framework, key, controls: framework.controls.map((each) => ({ id: Bun.randomUUIDv5(`${key} ${each.ref}`, CONTROLS), ...each })) };
}

const byKey = new Map(frameworks.map((each) => [each.key, new Map(each.controls.map((control) => [control.id, control]))]));

const names = new Map(frameworks.map(({ key, name }) => [key, name]));
export const nameOf = (key: FrameworkKey) => names.get(key) ?? key;
export const controlsOf = (key: FrameworkKey) => byKey.get(key)?.values().toArray() ?? [];
export const findControl = (key: FrameworkKey, id: string) => byKey.get(key)?.get(id.toLowerCase());
