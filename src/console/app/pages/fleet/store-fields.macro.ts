import catalogue from "#modules/fleet/trust-stores/rules/config-fields.json";

type Rules = { required: string[]; optional: string[]; defaults: Record<string, unknown>; notes?: string };

/** Returns what forms need of the trust stores' config fields, at bundling time: the whole catalogue is five times as large. */
export function storeFields() {
  const types = Object.entries<Rules>(catalogue.types).map(([type, { required, optional, defaults, notes = "" }]) => [
    type,
    { required, optional, defaults, notes },
  ]);
  const fields = catalogue.fields.map(({ name, type, meaning }) => [name, { type, meaning }]);
  return { types: Object.fromEntries(types), fields: Object.fromEntries(fields) };
}
