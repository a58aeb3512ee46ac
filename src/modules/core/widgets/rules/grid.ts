import { checkFields } from "#catalogue/fields";
import { widgetOf } from "./kinds";

export const COLUMNS = 12;
export const MAX_Y = 9_999;
export const MAX_HEIGHT = 24;
const MAX_WIDGETS = 200;

type Size = { width: number; height: number };
export type Box = Size & { x: number; y: number };
type Placed = Box & { title: string };

export const overlaps = (a: Box, b: Box) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

/** Returns the place of a widget beside the others of its dashboard: the wished one, else at the left below all of them. */
export function findPlace(others: readonly Placed[], wish: Box | undefined, { width, height }: Size): { box: Box } | { invalid: string } {
  if (others.length >= MAX_WIDGETS) return { invalid: `The dashboard has ${MAX_WIDGETS} widgets, which is as many as it may have.` };
  const box = wish ?? { x: 0, y: others.reduce((bottom, each) => Math.max(bottom, each.y + each.height), 0), width, height };
  if (box.x + box.width > COLUMNS)
    return { invalid: `body.position must stay within the ${COLUMNS} columns, but x and width are ${box.x + box.width} together.` };
  if (box.y > MAX_Y) return { invalid: "The dashboard has no room below its last widget. Send a position." };
  const other = others.find((each) => overlaps(each, box));
  return other
    ? { invalid: `body.position overlaps the widget "${other.title}", which is ${other.width} × ${other.height} at x ${other.x}, y ${other.y}.` }
    : { box };
}

/** The settings as the kind wants them, or the first fault. */
export const readSettings = (kind: string, settings: Record<string, unknown>) =>
  checkFields(widgetOf(kind).settings, settings, { at: "body.settings", owner: kind });
