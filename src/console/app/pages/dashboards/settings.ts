import { defaultsOf, type Field, fieldsOf, mergePatchOf, type Values } from "../../parts/fields";
import type { Widget, WidgetKind } from "./types";

const NO_FIELD = "title"; // the widget's own title stands above it
const SYSTEM = "systemIds";

/** The form of a widget: title, dashboard, and the settings of its kind. AI systems are chosen by name, one for a widget. */
export const widgetFields = ({ settings }: WidgetKind, systems: { id: string; key: string }[]): Field[] => [
  { name: "title", label: "Title", kind: "text", required: true },
  { name: "dashboard", label: "Dashboard", kind: "text", required: true, hint: "A new name makes a new dashboard." },
  ...fieldsOf(settings)
    .filter(({ name }) => name !== NO_FIELD)
    .map((field) => ({ ...(field.name === SYSTEM ? systemField(systems) : field), name: `settings.${field.name}` })),
];

const systemField = (systems: { id: string; key: string }[]): Field => ({
  name: SYSTEM,
  label: "AI system",
  kind: "select",
  required: true,
  options: systems.map(({ id }) => id),
  labels: Object.fromEntries(systems.map(({ id, key }) => [id, key])),
});

export function widgetValues({ displayName, settings }: WidgetKind, dashboard: string, widget?: Widget): Values {
  const shown: Values = widget?.settings ?? defaultsOf(settings);
  const entries = Object.entries(shown).map(([name, value]) => [`settings.${name}`, name === SYSTEM ? (value as string[])[0] : value]);
  return { title: widget?.title ?? displayName, dashboard, ...Object.fromEntries(entries) };
}

/** The form's values as the body of a write; a setting that was emptied is removed (null), where `before` has it. */
export function widgetBody({ title, dashboard, ...values }: Values, before: Values = {}) {
  const given = Object.entries(values).flatMap(([key, value]) => {
    const name = key.replace("settings.", "");
    if (name === SYSTEM) return [[name, [value]] as const];
    return Array.isArray(value) && value.length === 0 ? [] : [[name, value] as const];
  });
  const { [NO_FIELD]: _, ...shown } = before;
  return { title, dashboard, settings: mergePatchOf(shown, Object.fromEntries(given)) };
}
