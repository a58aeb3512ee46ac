import { expect, test } from "bun:test";
import { join, resolve } from "node:path";
import { Glob } from "bun";
import { type Comment, parseSync } from "oxc-parser";

const ROOT = resolve(import.meta.dir, "../..");
const FILES = ["src", "test/support"]
  .flatMap((room) => [...new Glob("**/*.{ts,tsx}").scanSync(join(ROOT, room))].map((path) => join(room, path)))
  .filter((path) => !path.endsWith(".d.ts"))
  .toSorted();

const MAX_TEXT = 200;
const MAX_LINE = 140;
/** The first says what it is or returns; a second may say errors, units, or why. */
const MAX_SENTENCES = 2;
const QUESTION = /^(what|who|whom|where|whether)\b/i;
const RARE_WORD = /\b(somebody|nobody|whoever|anew)\b/i;
const SENTENCE_END = /[.?!](?=\s+[A-Z`]|$)/g;

const isDocstring = ({ type, value }: Comment) => type === "Block" && value.startsWith("*");

/** Returns a comment's text without its stars, on one line. */
const textOf = ({ value }: Comment) =>
  value
    .replace(/^\*/, "")
    .replace(/\n\s*\* ?/g, " ")
    .replace(/\s+/g, " ")
    .trim();

/** Returns the faults of a docstring, in words. */
function faultsOf(text: string) {
  const [question] = QUESTION.exec(text) ?? [];
  return [
    question && `begins with ${question}: say what it is, or what it returns`,
    text.length > MAX_TEXT && `has ${text.length} characters, of at most ${MAX_TEXT}`,
    (text.match(SENTENCE_END)?.length ?? 0) > MAX_SENTENCES && `has more than ${MAX_SENTENCES} sentences`,
  ].filter((fault) => typeof fault === "string");
}

/** Returns the lines of a comment that shares them with no code. */
function ownLinesOf(source: string, { start, end }: Comment) {
  const lineStart = source.lastIndexOf("\n", start - 1) + 1;
  return source.slice(lineStart, start).trim() === "" ? source.slice(lineStart, end).split("\n") : [];
}

/** Returns the faults of the comments in a source, each with its line. */
function findFaults(path: string, source: string) {
  const { comments } = parseSync(path, source);
  return comments.flatMap((comment) => {
    const text = textOf(comment);
    const [rare] = RARE_WORD.exec(text) ?? [];
    const faults = [
      ...(isDocstring(comment) ? faultsOf(text) : []),
      ...(rare ? [`has the word ${rare}`] : []),
      ...(ownLinesOf(source, comment).some(({ length }) => length > MAX_LINE) ? [`has a line of more than ${MAX_LINE} characters`] : []),
    ];
    return faults.map((fault) => `${path}:${source.slice(0, comment.start).split("\n").length} ${fault}`);
  });
}

test("docstrings are short and begin with their subject", async () => {
  const faults = await Promise.all(FILES.map(async (path) => findFaults(path, await Bun.file(join(ROOT, path)).text())));
  expect(FILES).toContain("src/main.ts");
  expect(faults.flat()).toEqual([]);
});

const long = `${"a".repeat(MAX_TEXT)}.`;

test.each([
  ["/** What it returns. */", ["begins with What"]],
  ["/**\n * Whether\n * it is there.\n */", ["begins with Whether"]],
  [`/**\n * ${long.slice(0, 100)}\n * ${long.slice(100)}\n */`, ["has 202 characters"]],
  ["/** Returns one. Throws one. Counts one. */", ["has more than 2 sentences"]],
  ["/** Asks whoever is there. */", ["has the word whoever"]],
  ["// nobody is there", ["has the word nobody"]],
  [`// ${"a ".repeat(70)}a`, ["has a line of more than 140"]],
])("%j is refused", (comment, expected) => {
  const faults = findFaults("a.ts", `${comment}\nexport const a = 1;\n`);
  expect(faults.map((fault) => expected.find((each) => fault.includes(each)) ?? fault)).toEqual(expected);
});

test.each([
  ["/** Returns the certificate of RFC 5280, 4.1, of e.g. example.com. Throws where there is none. */"],
  ["/** Returns whether it is there. */"],
  ["// what follows is a copy"],
  ['const text = "/** What it returns. Nobody knows. Whoever asks. */";'],
  [`const text = ${JSON.stringify("a".repeat(120))}; // the remark of a long line`],
])("%j is accepted", (line) => {
  expect(findFaults("a.ts", `${line}\nexport const a = 1;\n`)).toEqual([]);
});
