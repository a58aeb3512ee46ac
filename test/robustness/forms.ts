import fc, { type Arbitrary } from "fast-check";
import { TEXTS } from "./junk";

const BOUNDARY = "certitude-fuzz";
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

type Part = { name: string; fileName?: string; type?: string; text: string };

const write = ({ name, fileName, type, text }: Part) =>
  `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${fileName === undefined ? "" : `; filename="${fileName}"`}\r\n${type ? `content-type: ${type}\r\n` : ""}\r\n${text}\r\n`;

const texts = fc.oneof(fc.constantFrom(...TEXTS.map((each) => each.toWellFormed())), fc.string({ unit: "grapheme", maxLength: 300 }));
const fileNames = fc.constantFrom(
  "x.md",
  "x.txt",
  "x.html",
  "x.pdf",
  "x",
  "",
  ".md",
  "..",
  "../../x.md",
  "x\0.md",
  "x.md.exe",
  `${"x".repeat(2_000)}.md`,
  "🦀.md",
  "a%22b.md",
);
const types = fc.constantFrom("text/markdown", "text/html", "application/pdf", "application/x-sh", "nonsense", "text/plain; charset=utf-16");

const files = fc.record({ name: fc.constant("file"), fileName: fileNames, type: types, text: texts });
const fields = (names: string[]) => fc.record({ name: fc.constantFrom(...names, "nonsense", "__proto__", "constructor", ""), text: texts });

const BROKEN = [
  "",
  "--",
  `--${BOUNDARY}`,
  `--${BOUNDARY}--`,
  `--${BOUNDARY}\r\n\r\n`,
  `--${BOUNDARY}\r\ncontent-disposition: form-data\r\n\r\nx\r\n--${BOUNDARY}--`,
  "{}",
  "\0",
];

/** Forms that are right but for a part, its file or an end. */
export function forms(example: Record<string, string>): Arbitrary<string> {
  const names = Object.keys(example);
  const right: Part[] = names.map((name) => ({ name, text: example[name] ?? "", ...(name === "file" && { fileName: "x.md", type: "text/markdown" }) }));
  const changed = fc.oneof(
    fc.constant([]),
    files.map((part) => [part]),
    fields(names).map((part) => [part]),
    fc.tuple(files, fields(names)).map((parts) => parts),
  );
  const parts = fc.tuple(fc.subarray(right, { minLength: 2 }), changed, fc.boolean()).map(([kept, added, replaces]): Part[] => {
    const others = replaces ? right.filter((each) => !added.some(({ name }) => name === each.name)) : kept;
    return [...others, ...added];
  });
  const whole = parts.map((each) => `${each.map(write).join("")}--${BOUNDARY}--\r\n`);
  return fc.oneof(
    { weight: 8, arbitrary: whole },
    { weight: 1, arbitrary: fc.constantFrom(...BROKEN) },
    { weight: 1, arbitrary: whole.map((text) => text.slice(0, -9)) },
  );
}
