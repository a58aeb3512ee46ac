import { defaultsOf, type Field, fieldsOf, mergePatchOf, type Values } from "../../parts/fields";
import type { Connection, ConnectionKind } from "./types";

/** The form of a kind: its name, then its config, then its secrets. Secrets that are there already may be left empty. */
export function settingsFields({ config, secrets }: Pick<ConnectionKind, "config" | "secrets">, stored: string[] = []): Field[] {
  const secretFields = fieldsOf(secrets).map((field) => ({
    ...field,
    name: `secrets.${field.name}`,
    kind: /(Pem|Json)$/.test(field.name) ? ("secret" as const) : ("password" as const),
    ...(stored.includes(field.name) && { required: false, placeholder: "Kept as it is" }),
  }));
  return [
    { name: "name", label: "Name", kind: "text", required: true, hint: "How this organization calls it." },
    ...fieldsOf(config).map((field) => ({ ...field, name: `config.${field.name}` })),
    ...secretFields,
  ];
}

/** Returns the values that the form begins with. */
export function settingsValues({ config, displayName }: ConnectionKind, connection?: Connection): Values {
  const shown = connection?.config ?? defaultsOf(config);
  return { name: connection?.name ?? displayName, ...Object.fromEntries(Object.entries(shown).map(([name, value]) => [`config.${name}`, value])) };
}

/** The form's values as the body of a write. A field of the config that was emptied is removed (null), where `before` has it. */
export function settingsBody({ name, ...values }: Values, before: Values = {}) {
  const part = (prefix: string): Values =>
    Object.fromEntries(
      Object.entries(values).flatMap(([key, value]) => (key.startsWith(prefix) && !isEmpty(value) ? [[key.slice(prefix.length), value]] : [])),
    );
  return { name, config: mergePatchOf(before, part("config.")), secrets: part("secrets.") };
}

const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
