import { PRESET_NAMES } from "#modules/fleet/trust-stores/rules/presets";
import { START_TLS } from "#modules/fleet/trust-stores/rules/start-tls";
import { type Field, labelOf, type Values } from "../../parts/fields";
import { storeFields } from "./store-fields.macro" with { type: "macro" };
import type { Config } from "./types";

const { types, fields } = storeFields();

/** Where a boolean may be left out, it is chosen of these. */
const YES_NO = ["yes", "no"] as const;
const OPTIONS: Record<string, readonly string[]> = { preset: PRESET_NAMES, verifyStartTls: START_TLS };
const ARRAY = "array of string";

export const storeNotes = (type: string) => types[type]?.notes ?? "";

/** The fields of a form for the config of a store, as the catalogue describes them. */
export function configFields(type: string): Field[] {
  const { required = [], optional = [], defaults = {} } = types[type] ?? {};
  return [...required, ...optional].map((name) => {
    const { type: form = "string", meaning = "" } = fields[name] ?? {};
    const options = form === "boolean" ? YES_NO : OPTIONS[name];
    const usual = defaults[name];
    return {
      name,
      label: labelOf(name),
      kind: options ? "select" : form === ARRAY ? "lines" : "text",
      required: required.includes(name),
      hint: form === ARRAY ? `${meaning} One a line.` : meaning,
      ...(options && { options }),
      ...(usual !== undefined && { placeholder: [usual].flat().join("\n") }),
    };
  });
}

/** What the form holds of a config, out of all its values. */
export function readConfig(type: string, values: Values): Config {
  const entries = configFields(type).map(({ name }) => [name, readValue(name, values[name])] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value.length !== 0)) as Config;
}

const isBoolean = (name: string) => fields[name]?.type === "boolean";
const readValue = (name: string, value: unknown) => (isBoolean(name) && value !== undefined ? value === "yes" : value) as string & string[];

/** A config as the values of its form. */
export const showConfig = (config: Config): Values =>
  Object.fromEntries(Object.entries(config).map(([name, value]) => [name, typeof value === "boolean" ? YES_NO[value ? 0 : 1] : value]));

/** The JSON merge patch that makes `after` of `before`. */
export function patchConfig(before: Config, after: Config): Record<string, unknown> {
  const changed = Object.entries(after).filter(([name, value]) => JSON.stringify(before[name]) !== JSON.stringify(value));
  const removed = Object.keys(before).filter((name) => !(name in after));
  return { ...Object.fromEntries(changed), ...Object.fromEntries(removed.map((name) => [name, null])) };
}
