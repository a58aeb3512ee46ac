import { PRESET_NAMES } from "#modules/fleet/trust-stores/rules/presets";
import { START_TLS } from "#modules/fleet/trust-stores/rules/start-tls";
import { type Field, labelOf, type Values } from "../../parts/fields";
import { storeFields } from "./store-fields.macro" with { type: "macro" };
import type { Config } from "./types";

const { types, fields } = storeFields();

/** The choices of a boolean that may be left out. */
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

/** Returns the config among the values of a form. */
export function readConfig(type: string, values: Values): Values {
  const entries = configFields(type).map(({ name }) => [name, readValue(name, values[name])] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0)));
}

const isBoolean = (name: string) => fields[name]?.type === "boolean";
const readValue = (name: string, value: unknown) => (isBoolean(name) && value !== undefined ? value === "yes" : value);

/** A config as the values of its form. */
export const showConfig = (config: Config): Values =>
  Object.fromEntries(Object.entries(config).map(([name, value]) => [name, typeof value === "boolean" ? YES_NO[value ? 0 : 1] : value]));
