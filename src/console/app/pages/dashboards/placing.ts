import type { Box } from "./types";

const COLUMNS = 12;
const MAX_HEIGHT = 24;

/** Pixels: a row of the grid, and the space between two. */
const ROW = 76;
const GAP = 16;

const within = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most);

/** Moves a box by columns and rows, as far as the grid goes. */
export const moveBox = (box: Box, columns: number, rows: number): Box => ({
  ...box,
  x: within(box.x + columns, 0, COLUMNS - box.width),
  y: Math.max(0, box.y + rows),
});

/** Makes a box larger or smaller by columns and rows, as far as the grid goes. */
export const sizeBox = (box: Box, columns: number, rows: number): Box => ({
  ...box,
  width: within(box.width + columns, 1, COLUMNS - box.x),
  height: within(box.height + rows, 1, MAX_HEIGHT),
});

const STEPS: Record<string, [columns: number, rows: number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The box after a key: arrows move it, with Shift they change its size. Undefined for other keys. */
export function boxAfterKey(box: Box, key: string, isShift: boolean): Box | undefined {
  const step = STEPS[key];
  return step && (isShift ? sizeBox : moveBox)(box, ...step);
}

/** How many columns and rows a pointer went over. */
export function cellsOf([dx, dy]: [number, number], gridWidth: number): [columns: number, rows: number] {
  const column = (gridWidth + GAP) / COLUMNS;
  return [Math.round(dx / column), Math.round(dy / (ROW + GAP))];
}

export const describeBox = ({ x, y, width, height }: Box) => `column ${x + 1}, row ${y + 1}, ${width} wide, ${height} high`;

export const isSameBox = (a: Box, b: Box) => a.x === b.x && a.y === b.y && a.width === b.width && a.height === b.height;
