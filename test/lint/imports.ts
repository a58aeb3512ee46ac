import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Glob } from "bun";
import { parseSync } from "oxc-parser";

const SRC = resolve(import.meta.dir, "../../src");

/** An import of `path`; both are below `src`, the `target` without its ending, but where it is a package. */
export type Import = { path: string; target: string; isPackage: boolean; isType: boolean };

/** The files of code below `src`. */
export const FILES = [...new Glob("**/*.{ts,tsx}").scanSync(SRC)].filter((path) => !path.endsWith(".d.ts")).toSorted();

/** Returns all imports of a file, those by `export … from` and `import()` too. */
export function readImports(path: string, source = readFileSync(join(SRC, path), "utf8")): Import[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(path, source).module;
  return [
    ...staticImports.map(({ moduleRequest, entries }) => ({ given: moduleRequest.value, isType: entries.length > 0 && entries.every(({ isType }) => isType) })),
    ...staticExports.flatMap(({ entries }) => entries.flatMap(({ moduleRequest, isType }) => (moduleRequest ? { given: moduleRequest.value, isType } : []))),
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => ({ given: source.slice(start + 1, end - 1), isType: false })),
  ].map(({ given, isType }) => ({ path, ...findTarget(path, given), isType }));
}

function findTarget(path: string, given: string) {
  if (given.startsWith("#")) return { target: given.slice(1), isPackage: false };
  return given.startsWith(".") ? { target: join(dirname(path), given), isPackage: false } : { target: given, isPackage: true };
}
