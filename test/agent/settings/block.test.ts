import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { blockNames, hasMarker, holdsBlock, outsideBlocks, readBlock, withBlock, withoutBlock } from "#agent/settings/block";

const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code));
const line = fc.array(byte, { maxLength: 12 }).map((bytes) => bytes.join("").replace(/[\r\n]/g, " "));
const text = fc
  .array(fc.tuple(line, fc.constantFrom("\n", "\r\n", "\n\n")), { maxLength: 6 })
  .chain((lines) => fc.tuple(fc.constant(lines.map((each) => each.join("")).join("")), fc.option(line, { nil: "" })).map((both) => both.join("")));
const content = fc.array(fc.stringMatching(/^[\x20-\x7e]{1,20}$/), { maxLength: 4 });
const check = (property: fc.IProperty<unknown>) => fc.assert(property, { numRuns: 500 });

describe("a marked block", () => {
  test("is read back, and taken out again leaves every byte of whatever text as it was", () => {
    check(
      fc.property(text, content, (before, lines) => {
        const after = withBlock(before, "one", lines);
        expect(readBlock(after, "one")).toEqual(lines);
        expect(withBlock(after, "one", lines)).toBe(after);
        expect(withoutBlock(after, "one")).toBe(before);
        expect(outsideBlocks(after)).toBe(before);
      }),
    );
  });

  test("that was cut short with its text takes no end of a line along that is not its own", () => {
    const before = "theirs\n";
    const whole = withBlock(before, "one", ["first", "second", "third"]);
    for (let length = whole.indexOf("third"); length <= whole.indexOf("# END"); length++) {
      const cut = whole.slice(0, length);
      expect(withBlock(cut, "one", ["first", "second", "third"])).toBe(whole);
    }
  });

  test("stands beside others, whichever comes, changes or goes first", () => {
    check(
      fc.property(text, content, content, fc.boolean(), (before, first, second, isFirst) => {
        const both = withBlock(withBlock(withBlock(before, "one", []), "two", second), "one", first);
        expect(blockNames(both).toSorted()).toEqual(["one", "two"]);
        expect([readBlock(both, "one"), readBlock(both, "two")]).toEqual([first, second]);
        const [gone, left] = isFirst ? ["one", "two"] : ["two", "one"];
        const rest = withoutBlock(both, gone);
        expect([hasMarker(rest, gone), hasMarker(rest, left)]).toEqual([false, true]);
        expect(withoutBlock(rest, left)).toBe(before);
      }),
    );
  });

  test("that lost a marker, or has one too many, goes with what is left of it, and with nothing else", () => {
    const lines = ["first line", "second line", "third line"];
    const whole = withBlock("before\n", "one", lines);
    const [begin, end] = ["# BEGIN certitude one\n", "# END certitude one\n"];
    for (const damaged of [
      whole.replace(begin, ""),
      whole.replace(end, ""),
      whole.replace(`third line\n${end}`, ""),
      whole.replace(`${begin}first line\n`, ""),
      whole + end,
      begin + whole,
      whole + whole.slice(whole.indexOf(begin)),
    ])
      for (const [text, rest] of [
        [damaged, "before\n"],
        [`${damaged}after\n`, "before\nafter\n"],
      ] as const) {
        expect(holdsBlock(text, "one", lines)).toBe(false);
        expect(withoutBlock(text, "one", lines)).toBe(rest);
        expect(readBlock(withBlock(text, "one", lines), "one")).toEqual(lines);
      }
    expect(withoutBlock(`${begin}first line\nsomebody's\n`, "one", lines)).toBe("first line\nsomebody's\n");
    expect(withoutBlock(`${begin}somebody's\n# BEGIN certitude two\n${end}`, "one", lines)).toBe("somebody's\n# BEGIN certitude two\n");
  });
});
