import { expect, test } from "bun:test";
import { printable, printableJson, printableLines } from "#text/printable";

const HOSTILE = "a\u001b[2J\r\n\u009b31m\u202eb\u2066\u200f\u2028\ud800";

test("a terminal gets no character that it obeys, that turns text around or that it cannot show; all else stays", () => {
  for (const text of [printable(HOSTILE), printableLines(HOSTILE), printableJson({ [HOSTILE]: HOSTILE })])
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{C}\u2028]/u);
  expect(printable("Zürich 東京 🔒 (a/b)")).toBe("Zürich 東京 🔒 (a/b)");
  expect(printable("a\nb")).toBe("a\uFFFDb");
  expect(printableLines("a\nb")).toBe("a\nb");
  expect(JSON.parse(printableJson({ [HOSTILE]: [HOSTILE, "東京 🔒"] }))).toEqual({ [HOSTILE]: [HOSTILE, "東京 🔒"] });
});
