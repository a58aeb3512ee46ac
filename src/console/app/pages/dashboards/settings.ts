import { defaultsOf, type Field, fieldsOf, mergePatchOf, type Values } from "../../parts/fields";
import type { System, Widget, WidgetKind } from "./types";

const NO_FIELD = "title"; // the widget's own title stands above it
const SYSTEMS = "systemIds";
const METRICS = "metrics";

/** The AI systems of the organization and names of metrics that are in use, as the fields of metrics offer them. */
export type Known = { systems: Pick<System, "id" | "key">[]; metrics: string[] };

/** The form of a widget: title, dashboard, and the settings of its kind. AI systems are chosen by name. */
export const widgetFields = ({ settings }: WidgetKind, known: Known, widget?: Widget): Field[] => [
  { name: "title", label: "Title", kind: "text", required: true },
  { name: "dashboard", label: "Dashboard", kind: "text", required: true, hint: "A new name makes a new dashboard." },
  ...fieldsOf(settings)
    .filter(({ name }) => name !== NO_FIELD)
    .map((field) => ({ ...field, ...changes(field.name, known, widget), name: `settings.${field.name}` })),
];

function changes(name: string, { systems, metrics }: Known, widget?: Widget): Partial<Field> {
  if (name === METRICS && metrics.length > 0) return { hint: `The whole name of each, one a line. In use: ${metrics.join(", ")}.` };
  if (name !== SYSTEMS) return {};
  const shown = idsOf(widget?.settings[SYSTEMS], systems);
  return {
    label: "AI systems",
    kind: "choices",
    options: [...new Set([...systems.map(({ id }) => id), ...shown])],
    labels: Object.fromEntries(systems.map(({ id, key }) => [id, key])),
    hint: "Ctrl or ⌘ chooses several.",
  };
}

/** A widget may name a system by its key, too. */
const idsOf = (named: unknown, systems: Known["systems"]) =>
  [named ?? []]
    .flat()
    .map(String)
    .map((each) => systems.find(({ key }) => key === each)?.id ?? each);

export function widgetValues({ displayName, settings }: WidgetKind, { systems }: Known, dashboard: string, widget?: Widget): Values {
  const shown: Values = widget?.settings ?? defaultsOf(settings);
  const entries = Object.entries(shown).map(([name, value]) => [`settings.${name}`, name === SYSTEMS ? idsOf(value, systems) : value]);
  return { title: widget?.title ?? displayName, dashboard, ...Object.fromEntries(entries) };
}

/** The form's values as the body of a write; a setting that was emptied is removed (null), where `before` has it. */
export function widgetBody({ title, dashboard, ...values }: Values, before: Values = {}) {
  const given = Object.entries(values).flatMap(([key, value]) => {
    const name = key.replace("settings.", "");
    return Array.isArray(value) && value.length === 0 ? [] : [[name, value] as const];
  });
  const { [NO_FIELD]: _, ...shown } = before;
  return { title, dashboard, settings: mergePatchOf(shown, Object.fromEntries(given)) };
}
