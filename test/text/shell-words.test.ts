import { expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { quoteWords, splitWords } from "#text/shell-words";

setDefaultTimeout(300_000);

const WORDS = fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 5 });

test("words that were quoted are read back as they were, whatever they hold", () => {
  fc.assert(fc.property(WORDS, (words) => expect(splitWords(quoteWords(words))).toEqual(words)));
});

test("a shell reads them back as they were", () => {
  const read = (line: string) => Bun.spawnSync(["sh", "-c", `printf '%s\\0' ${line}`]).stdout.toString();
  const plain = fc.array(
    fc.string({ unit: "grapheme" }).map((each) => each.replaceAll("\0", "").toWellFormed()),
    { minLength: 1, maxLength: 5 },
  );
  fc.assert(
    fc.property(plain, (words) => expect(read(quoteWords(words))).toBe(words.map((each) => `${each}\0`).join(""))),
    { numRuns: 50 },
  );
  expect(read(quoteWords(["$(id)", "`id`", "a'b", "*", "~", "!!", "\\", "", '"x"', "#"]))).toBe('$(id)\0`id`\0a\'b\0*\0~\0!!\0\\\0\0"x"\0#\0');
});

test.each([
  ["systemctl restart example", ["systemctl", "restart", "example"]],
  [`  a 'b c' "d e" f\\ g `, ["a", "b c", "d e", "f g"]],
  [`a'b'"c"d`, ["abcd"]],
  [`'' "" x`, ["", "", "x"]],
  [`"a\\"b\\$c\\\\"`, ['a"b$c\\']],
])("%s is split as a shell would", (line, words) => expect(splitWords(line)).toEqual(words));

test.each([
  "",
  "  ",
  "a 'b",
  'a "b',
  "a $HOME",
  'a "$HOME"',
  'a "`id`"',
  "a `id`",
  "a; b",
  "a && b",
  "a | b",
  "a > b",
  "a *",
  "a ?",
  "~/a",
  "a {b,c}",
  "a #b",
  "a\\",
])("%s is more than words", (line) => expect(splitWords(line)).toBeUndefined());
