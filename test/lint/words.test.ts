import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseSync } from "oxc-parser";
import { FILES } from "./imports";

const SRC = resolve(import.meta.dir, "../../src");
/** Names that fit every type, so that a reader has to open each to learn what it is. */
const EMPTY_NAMES = ["Row", "Given", "Position", "Needs", "Place", "Asked", "Looked", "Told"];
/** Verbs with a better word in `src/README.md`. */
const VAGUE_VERB = /^(tell|told|untold|announce|look(?!Up)|fareOf|hear|hearers)(?![a-z])/;

/** Returns the names that a file declares at its top: types and functions. */
function declaredIn(path: string, source = readFileSync(join(SRC, path), "utf8")) {
  return parseSync(path, source).program.body.flatMap((each) => {
    const declared = each.type === "ExportNamedDeclaration" ? each.declaration : each;
    if (declared?.type === "TSTypeAliasDeclaration" || declared?.type === "FunctionDeclaration") return declared.id?.name ?? [];
    return declared?.type === "VariableDeclaration" ? declared.declarations.flatMap(({ id }) => (id.type === "Identifier" ? id.name : [])) : [];
  });
}

const faultsOf = (names: string[]) => names.filter((name) => EMPTY_NAMES.includes(name) || VAGUE_VERB.test(name));

test("types and functions are named by what they are and do", () => {
  expect(FILES.flatMap((path) => faultsOf(declaredIn(path)).map((name) => `${path}: ${name}`))).toEqual([]);
});

test("names that say nothing are found in each form", () => {
  const planted = [
    "type Row = {};",
    "export type Given = {};",
    "function lookAt() {}",
    "export const tellEvents = () => {};",
    "const looksAlike = 1, told = 2;",
  ];
  expect(planted.map((line) => faultsOf(declaredIn("a.ts", line)))).toEqual([["Row"], ["Given"], ["lookAt"], ["tellEvents"], ["told"]]);
});
