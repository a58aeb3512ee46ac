import presets from "./presets.json";

/** The values that a preset of pem_files gives in place of a config. */
type Preset = { [field: string]: string | string[] };
const PRESETS: Record<string, Preset> = presets;

export const PRESET_NAMES = Object.keys(presets);
/** Returns the presets' text values of a field. */
export const presetValues = (field: string) => [...new Set(Object.values(PRESETS).flatMap(({ [field]: value }) => (typeof value === "string" ? value : [])))];
export const PRESET_RELOADS = Object.values(presets).flatMap((each) => ("reloadCommand" in each ? [each.reloadCommand] : []));
export const isPreset = (name: string) => Object.hasOwn(PRESETS, name);

/** The files of certificate and key: a config that names one of them names all. */
const FILE_NAMES = ["certFileName", "chainFileName", "fullChainFileName", "keyFileName", "combinedFileName"];
const USUAL_NAMES: Preset = { certFileName: "tls.crt", keyFileName: "tls.key" };

/**
 * Returns a config of pem_files with what its preset says in the place of what it leaves out; `{hostname}` stands for the
 * host's own name.
 */
export function withPreset<Config extends { preset?: string }>({ preset, ...given }: Config, hostname: string): Omit<Config, "preset"> {
  const own = (preset !== undefined && PRESETS[preset]) || {};
  const isNamed = (config: object) => FILE_NAMES.some((name) => Object.hasOwn(config, name));
  const kept = Object.entries(own).filter(([field]) => !(isNamed(given) && FILE_NAMES.includes(field)));
  const named = kept.map(([field, value]) => [field, typeof value === "string" ? value.replace("{hostname}", hostname) : value]);
  const whole = { ...Object.fromEntries(named), ...given };
  return isNamed(whole) ? whole : { ...USUAL_NAMES, ...whole };
}
