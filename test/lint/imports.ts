import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Glob } from "bun";
import { parseSync, Visitor } from "oxc-parser";

const SRC = resolve(import.meta.dir, "../../src");

/** An import of `path`; both are below `src`, the `target` without its ending, but where it is a package. */
export type Import = { path: string; target: string; isPackage: boolean; isType: boolean };

/** The files of code below `src`. */
export const FILES = [...new Glob("**/*.{ts,tsx}").scanSync(SRC)].filter((path) => !path.endsWith(".d.ts")).toSorted();

type Node = { type: string; value?: unknown; start: number; end: number };

/** Returns all imports of a file, in whatever form they are written; one of an address that is put together is of no package. */
export function readImports(path: string, source = readFileSync(join(SRC, path), "utf8")): Import[] {
  const { module, program } = parseSync(path, source);
  const found = [
    ...module.staticImports.map(({ moduleRequest, entries }) => ({
      given: moduleRequest.value,
      isType: entries.length > 0 && entries.every(({ isType }) => isType),
    })),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest, isType }) => (moduleRequest ? { given: moduleRequest.value, isType } : [])),
    ),
  ];
  function add({ type, value, start, end }: Node, isType = false) {
    const written = source.slice(start, end);
    const isPlain = type === "Literal" || /^`[^$]*`$/.test(written);
    found.push({ given: isPlain ? String(value ?? written.slice(1, -1)) : `#${written}`, isType });
  }
  new Visitor({
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source, true),
    TSExternalModuleReference: (node) => add(node.expression),
    CallExpression({ callee, arguments: [first] }) {
      if (callee.type === "Identifier" && callee.name === "require" && first) add(first);
    },
  }).visit(program);
  return found.map(({ given, isType }) => ({ path, ...findTarget(path, given), isType }));
}

function findTarget(path: string, given: string) {
  if (given.startsWith("#")) return { target: given.slice(1), isPackage: false };
  return given.startsWith(".") ? { target: join(dirname(path), given), isPackage: false } : { target: given, isPackage: true };
}
