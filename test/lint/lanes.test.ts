import { expect, test } from "bun:test";
import { join, resolve } from "node:path";
import { Glob } from "bun";
import { scripts } from "../../package.json";

const ROOT = resolve(import.meta.dir, "../..");
const FILES = [...new Glob("test/**/*.{test,host,e2e,corpus,record}.ts").scanSync(ROOT)];
const ciRun = await Bun.file(join(ROOT, ".ci/run")).text();

test("every name in a list of .ci/run is of a test file", async () => {
  const lists = /^independent=.*?^copying=.*?$/ms.exec(ciRun)?.[0] ?? "";
  const names = await Bun.$`bash -c ${`${lists}\nprintf '%s\\n' "\${independent[@]}" "\${differing[@]}" "\${clusters[@]}" "\${copying[@]}"`}`.text();
  expect(names).toContain("test/lint/\n");
  expect(
    names
      .trim()
      .split("\n")
      .filter((name) => !FILES.some((file) => file.includes(name))),
  ).toEqual([]);
});

test("every file of tests that bun test does not find by itself is run by a script", () => {
  const globs = [ciRun, ...Object.values(scripts)].flatMap((text) => [...text.matchAll(/ \.\/(test\/\S+\.ts)/g)].map(([, glob = ""]) => new Glob(glob)));
  expect(FILES.filter((file) => !file.endsWith(".test.ts") && !globs.some((glob) => glob.match(file)))).toEqual([]);
});

test("every file that kills processes at their writes is of test:killed", async () => {
  const globs = [...scripts["test:killed"].matchAll(/\.\/(test\/\S+\.ts)/g)].map(([, glob = ""]) => new Glob(glob));
  const killing = await Promise.all(FILES.map(async (file) => (/killAtEachStep\(\{/.test(await Bun.file(join(ROOT, file)).text()) ? file : [])));
  expect(killing.flat().filter((file) => !globs.some((glob) => glob.match(file)))).toEqual([]);
});
