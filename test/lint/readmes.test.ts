import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Glob } from "bun";

const ROOT = resolve(import.meta.dir, "../..");
const READMES = ["README.md", ...["src", "test"].flatMap((room) => [...new Glob("**/README.md").scanSync(join(ROOT, room))].map((path) => join(room, path)))];
const read = (path: string) => Bun.file(join(ROOT, path)).text();

test("the README is short: what it is, how to begin, where to read on", async () => {
  const text = await read("README.md");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
  expect(text.split(/\s+/).length).toBeLessThan(2_000);
});

test("every link between READMEs and guides leads to a file", async () => {
  expect(READMES).toContain("src/README.md");
  const broken: string[] = [];
  for (const path of READMES)
    for (const [, target = ""] of (await read(path)).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g))
      if (!existsSync(join(ROOT, dirname(path), target))) broken.push(`${path}: ${target}`);
  expect(broken).toEqual([]);
});
