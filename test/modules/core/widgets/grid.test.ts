import { describe, expect, test } from "bun:test";
import { array, assert, constantFrom, integer, nat, option, property, record } from "fast-check";
import { type Box, COLUMNS, findPlace, overlaps } from "#modules/core/widgets/rules/grid";

const size = { width: integer({ min: 1, max: COLUMNS }), height: integer({ min: 1, max: 24 }) };
const aBox = record({ x: nat(COLUMNS - 1), y: nat(60), ...size });
const aWidget = record({ wish: option(aBox, { nil: undefined }), size: record(size) });

/** The cells that a box covers, one by one. */
const cells = ({ x, y, width, height }: Box) =>
  new Set(Array.from({ length: width * height }, (_, index) => `${x + (index % width)},${y + Math.floor(index / width)}`));

/** Puts widgets on a dashboard as the server does; what is refused stays away. */
function fill(wishes: { wish: Box | undefined; size: { width: number; height: number } }[]) {
  const placed: (Box & { title: string })[] = [];
  for (const { wish, size } of wishes) {
    const place = findPlace(placed, wish, size);
    if ("box" in place) placed.push({ ...place.box, title: "x" });
  }
  return placed;
}

describe("the grid of a dashboard", () => {
  test("two boxes overlap exactly when they share a cell, whichever comes first", () => {
    assert(
      property(aBox, aBox, (a, b) => {
        const shared = !cells(a).isDisjointFrom(cells(b));
        expect([overlaps(a, b), overlaps(b, a)]).toEqual([shared, shared]);
      }),
    );
  });

  test("whatever is placed covers each cell once and stays within the columns", () => {
    assert(
      property(array(aWidget, { maxLength: 40 }), (wishes) => {
        const placed = fill(wishes);
        const covered = placed.flatMap((each) => [...cells(each)]);
        expect(new Set(covered).size).toBe(covered.length);
        expect(placed.filter((each) => each.x + each.width > COLUMNS)).toEqual([]);
      }),
    );
  });

  test("without a wish there is always a place, at the left, directly below the lowest widget", () => {
    assert(
      property(array(aWidget, { maxLength: 40 }), record(size), (wishes, wanted) => {
        const placed = fill(wishes);
        const bottom = Math.max(0, ...placed.map((each) => each.y + each.height));
        expect(findPlace(placed, undefined, wanted)).toEqual({ box: { x: 0, y: bottom, ...wanted } });
      }),
    );
  });

  test("a wish is granted as it is or refused, and refused only for a reason that holds", () => {
    assert(
      property(array(aWidget, { maxLength: 20 }), aBox, constantFrom({ width: 1, height: 1 }), (wishes, wish, any) => {
        const placed = fill(wishes);
        const isFree = placed.every((each) => cells(each).isDisjointFrom(cells(wish))) && wish.x + wish.width <= COLUMNS;
        expect(findPlace(placed, wish, any)).toEqual(isFree ? { box: wish } : { invalid: expect.stringContaining("body.position") });
      }),
    );
  });
});
