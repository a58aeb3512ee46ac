import type { ObjectSchema, Values } from "../../parts/fields";
import type { Widget, WidgetKind } from "./types";

/** The settings that say how far a widget looks back or ahead, and how many of them make a day. */
const SETTINGS = { horizonDays: 1, rangeDays: 1, rangeHours: 24 } as const;

type TimedWidget = Pick<Widget, "kind" | "settings">;

export const DAYS = [1, 7, 30, 90, 365] as const;

const NAMES = ["horizonDays", "rangeDays", "rangeHours"] as const satisfies (keyof typeof SETTINGS)[];

const settingOf = (settings: Values) => NAMES.find((name) => typeof settings[name] === "number");

/** The days that all widgets with a time range share; undefined where they differ, or there are none. */
export function sharedDays(widgets: readonly TimedWidget[]): number | undefined {
  const days = new Set(widgets.flatMap((widget) => daysOf(widget) ?? []));
  return days.size === 1 ? [...days][0] : undefined;
}

function daysOf({ settings }: { settings: Values }) {
  const name = settingOf(settings);
  return name && Number(settings[name]) / SETTINGS[name];
}

/** The change that makes a widget show so many days, as far as its kind goes; undefined if nothing changes. */
export function rangeChange(widget: TimedWidget, kinds: readonly Pick<WidgetKind, "kind" | "settings">[], days: number): Values | undefined {
  const settings: Values = widget.settings;
  const name = settingOf(settings);
  if (!name) return;
  const schema: ObjectSchema | undefined = kinds.find(({ kind }) => kind === widget.kind)?.settings;
  const value = Math.min(days * SETTINGS[name], schema?.properties?.[name]?.maximum ?? Number.POSITIVE_INFINITY);
  return value === settings[name] ? undefined : { [name]: value };
}
