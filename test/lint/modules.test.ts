import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { FILES, type Import, readImports } from "./imports";

const README = resolve(import.meta.dir, "../../src/modules/README.md");
/** The picture in the README, which `CERTITUDE_DRAWS_MODULES=yes bun test test/lint/modules.test.ts` draws again. */
const PICTURE = /(?<=<!-- drawn by test\/lint\/modules\.test\.ts -->\n```\n)[^`]*(?=```)/;

/** Returns the module of a path below `src`, or the room of the ground that modules share; undefined for other rooms. */
const moduleOf = (path: string) => /^(?:modules\/([^/]+\/[^/]+)|(x509|labels)(?=\/))/.exec(path)?.slice(1).find(Boolean);

type Graph = Map<string, Set<string>>;

/** Returns which modules each module imports; or which files each file, by another way to name what a path belongs to. */
function graphOf(imports: Import[], partOf = moduleOf): Graph {
  const graph: Graph = new Map();
  for (const { path, target } of imports) {
    const [from, to] = [partOf(path), partOf(target)];
    if (from === undefined) continue;
    const lower = graph.getOrInsertComputed(from, () => new Set());
    if (to !== undefined && to !== from) lower.add(to);
  }
  return graph;
}

/** Returns a way from a module back to itself; undefined where there is none. */
function findCircle(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  function follow(way: string[]): string[] | undefined {
    const module = way.at(-1) ?? "";
    if (way.indexOf(module) < way.length - 1) return way.slice(way.indexOf(module));
    if (done.has(module)) return;
    for (const lower of graph.get(module) ?? []) {
      const circle = follow([...way, lower]);
      if (circle) return circle;
    }
    done.add(module);
  }
  return [...graph.keys()].map((module) => follow([module])).find((circle) => circle !== undefined);
}

/** Returns the graph as text, the ground first: each module with those that it imports, but for what one of these imports anyway. */
function draw(graph: Graph) {
  const reached = new Map<string, Set<string>>();
  const reach = (module: string): Set<string> =>
    reached.getOrInsertComputed(module, () => new Set([...(graph.get(module) ?? [])].flatMap((lower) => [lower, ...reach(lower)])));
  const heightOf = (module: string): number => Math.max(0, ...[...(graph.get(module) ?? [])].map((lower) => heightOf(lower) + 1));
  const lines = [...graph].map(([module, imported]) => {
    const direct = [...imported].filter((lower) => ![...imported].some((other) => other !== lower && reach(other).has(lower)));
    return { height: heightOf(module), module, direct: direct.toSorted() };
  });
  return lines
    .toSorted((a, b) => a.height - b.height || (a.module < b.module ? -1 : 1))
    .map(({ height, module, direct }) => `${height}  ${module}${direct.length > 0 ? ` → ${direct.join(" · ")}` : ""}\n`)
    .join("");
}

const IMPORTS = FILES.flatMap((path) => readImports(path));

test("modules are a tree: none imports, by whatever way, one that imports it", () => {
  expect(findCircle(graphOf(IMPORTS))).toBeUndefined();
});

test("files are one too, also by imports of types", () => {
  const fileOf = (path: string): string | undefined => path.replace(/\.tsx?$/, "");
  const inside = IMPORTS.filter(({ isPackage }) => !isPackage);
  expect(findCircle(graphOf(inside, fileOf))).toBeUndefined();
  const planted = readImports("modules/issuance/issuing/services/drivers.ts", 'import type { Deps } from "#deps";');
  expect(findCircle(graphOf([...inside, ...planted], fileOf))).toContain("deps");
});

test("an import of a module that stands higher closes a circle, also one of types", () => {
  const planted = readImports("modules/people/audit/queries.ts", 'import type { Member } from "#modules/people/members/schema";');
  expect(findCircle(graphOf([...IMPORTS, ...planted]))).toEqual(expect.arrayContaining(["people/audit", "people/members"]));
  const ground = readImports("x509/der.ts", 'export { importCertificates } from "#modules/certificates/certificates/services/import";');
  expect(findCircle(graphOf([...IMPORTS, ...ground]))).toEqual(expect.arrayContaining(["x509", "certificates/certificates"]));
});

test("the README of the modules has their picture, which CERTITUDE_DRAWS_MODULES=yes draws again", () => {
  const graph = graphOf(IMPORTS);
  expect(findCircle(graph)).toBeUndefined(); // of a circle there is no picture
  const picture = draw(graph);
  const readme = readFileSync(README, "utf8");
  if (Bun.env.CERTITUDE_DRAWS_MODULES === "yes") writeFileSync(README, readme.replace(PICTURE, picture));
  else expect(PICTURE.exec(readme)?.[0]).toBe(picture);
});
