type Sight = { top: number; height: number; count: number; rowHeight: number };
export type Window = { start: number; end: number; before: number; after: number };

/** Rows above and below those in sight that are there already. */
const MARGIN = 10;

/** Which rows are in the document when `top` pixels are scrolled away, and the pixels of those before and after. */
export function windowOf({ top, height, count, rowHeight }: Sight): Window {
  const start = Math.max(0, Math.min(Math.floor(top / rowHeight) - MARGIN, count));
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + MARGIN);
  return { start, end: Math.max(start, end), before: start * rowHeight, after: (count - Math.max(start, end)) * rowHeight };
}
