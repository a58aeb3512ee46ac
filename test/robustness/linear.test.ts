import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mint } from "#demo/mint";
import { compileSelector } from "#labels/selector";
import { searchWords } from "#modules/certificates/certificates/rules/search-terms";
import { cleanFileName, readKind, splitPassages } from "#modules/knowledge/documents/rules/documents";
import { parseCertificate } from "#x509/facts";
import { readPem } from "#x509/pem";
import { inDays } from "../support/pki/certificates";
import { growthOf, SUPER_LINEAR } from "../support/server/growth";

setDefaultTimeout(300_000);

type Reader = [name: string, run: (text: string) => unknown, worst: Record<string, string>];

const END = "-----END CERTIFICATE-----\n";
const BEGIN = "-----BEGIN CERTIFICATE-----\n";

/** What reads texts of strangers by loops of its own, and what may be worst for it, to be repeated. */
const READERS: Reader[] = [
  [
    "readPem",
    readPem,
    {
      begins: BEGIN,
      ends: END,
      labels: "-----BEGIN A-----\n",
      blocks: `${BEGIN}MAAB\n${END}`,
      dashes: "-",
      borders: "-----\n",
      lines: "A\n",
      space: " ",
      empty: "\n",
      returns: "\r",
    },
  ],
  [
    "readPem of one block",
    (text) => readPem(`${BEGIN}${text}\n${END}`),
    { base64: "A", lines: "A\n", empty: "\n", space: " ", dashes: "-", borders: "\n----" },
  ],
  [
    "readKind",
    (text) => readKind("a.txt", new TextEncoder().encode(text)),
    { comments: "<!-- -->", unclosed: "<!--", closed: "<!---->-->", space: " ", tags: "<html" },
  ],
  [
    "splitPassages",
    (text) => [...splitPassages(text)],
    { word: "a", words: "a ", space: " ", lines: "\n", paragraphs: "a\n\n", sentences: "a. ", quotes: '."', pairs: "🙂" },
  ],
  ["cleanFileName", cleanFileName, { names: "a", parts: "a/", dots: ".", controls: "\u0007", accents: "e\u0301" }],
  ["searchWords", searchWords, { letters: "a", words: "a ", dots: ".", pairs: "𝒜" }],
  ["compileSelector", compileSelector, { keys: "a,", values: "a in (b,c),", open: "(", word: "a", not: "!" }],
];

describe.each(READERS)("%s", (_, run, worst) => {
  test.each(Object.entries(worst))("takes time in proportion to its input: %s", (_, unit) => {
    expect(growthOf((size) => unit.repeat(size), run, { from: 256, to: 1_048_576 / unit.length })).toBeLessThan(SUPER_LINEAR);
  });
});

describe("parseCertificate", () => {
  test("takes time in proportion to the number of names", () => {
    const withNames = (count: number) => {
      const dns = Array.from({ length: count }, (_, index) => `host-${index}.example`);
      const [block] = readPem(mint({ commonName: "many.example", dns, notBefore: inDays(-1), notAfter: inDays(90) }).pem);
      if (!block || "fault" in block) throw new Error(block?.fault);
      return block.bytes;
    };
    expect(growthOf(withNames, parseCertificate, { from: 256, to: 4_096 })).toBeLessThan(SUPER_LINEAR);
  });
});
