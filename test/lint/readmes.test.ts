import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Glob } from "bun";
import { listVariables } from "#text/variables";

const ROOT = resolve(import.meta.dir, "../..");
const READMES = ["README.md", ...["src", "test"].flatMap((room) => [...new Glob("**/README.md").scanSync(join(ROOT, room))].map((path) => join(room, path)))];
const GUIDES = [...new Glob("src/guides/*.md").scanSync(ROOT)];
/** Made while the server runs: no file is behind it. */
const MADE = ["src/guides/operating.md: variables"];
const read = (path: string) => Bun.file(join(ROOT, path)).text();

test("the README is short: what it is, how to begin, where to read on", async () => {
  const text = await read("README.md");
  expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(150);
  expect(text.split(/\s+/).length).toBeLessThan(2_000);
});

test("every link between READMEs and guides leads to a file", async () => {
  expect(READMES).toContain("src/README.md");
  const broken: string[] = [];
  for (const path of [...READMES, ...GUIDES])
    for (const [, target = ""] of (await read(path)).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g))
      if (!existsSync(join(ROOT, dirname(path), target))) broken.push(`${path}: ${target}`);
  expect(broken).toEqual(MADE);
});

test("the README's picture of a start has the number of migrations", async () => {
  const { entries } = JSON.parse(await read("drizzle/meta/_journal.json"));
  expect(await read("README.md")).toContain(`database migrated migrations=${entries.length} `);
});

test("the README names every variable of the configuration", async () => {
  const text = await read("README.md");
  expect(listVariables().filter(([name]) => !text.includes(`\`${name}\``))).toEqual([]);
});

test("the table of modules names those that are there, in their area", async () => {
  const table = [...(await read("src/modules/README.md")).matchAll(/^\| ?([a-z]*) \| ((?:`[a-z-]+`(?: · )?)+) \|/gm)];
  let area = "";
  const named = table.flatMap(([, own = "", modules = ""]) => {
    area = own || area;
    return [...modules.matchAll(/`([a-z-]+)`/g)].map(([, name]) => `${area}/${name}`);
  });
  expect(named.filter((module) => !existsSync(join(ROOT, "src/modules", module)))).toEqual([]);
});
