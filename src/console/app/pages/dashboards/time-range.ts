import type { Values } from "../../parts/fields";
import type { Widget, WidgetKind } from "./types";

/** The settings that say how far a widget looks back or ahead, and how many of them make a day. */
const SETTINGS = { horizonDays: 1, rangeDays: 1, rangeHours: 24 } as const;
type Name = keyof typeof SETTINGS;

export const DAYS = [1, 7, 30, 90, 365] as const;

const settingOf = ({ settings }: Pick<Widget, "settings">) => (Object.keys(SETTINGS) as Name[]).find((name) => typeof settings[name] === "number");

/** The days that all widgets with a time range share; undefined where they differ, or there are none. */
export function sharedDays(widgets: readonly Widget[]): number | undefined {
  const days = new Set(widgets.flatMap((widget) => daysOf(widget) ?? []));
  return days.size === 1 ? [...days][0] : undefined;
}

function daysOf(widget: Widget) {
  const name = settingOf(widget);
  return name && Number(widget.settings[name]) / SETTINGS[name];
}

/** The change that makes a widget show so many days, as far as its kind goes; undefined if nothing changes. */
export function rangeChange(widget: Widget, kinds: readonly WidgetKind[], days: number): Values | undefined {
  const name = settingOf(widget);
  if (!name) return;
  const most = kinds.find(({ kind }) => kind === widget.kind)?.settings.properties?.[name]?.maximum ?? Number.POSITIVE_INFINITY;
  const value = Math.min(days * SETTINGS[name], most);
  return value === widget.settings[name] ? undefined : { [name]: value };
}
