import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

setDefaultTimeout(300_000);

const ROOT = resolve(import.meta.dir, "../..");
/** What the agent takes of the database's room: a lock, and two leaves that schemas need. */
const LEAVES = ["src/db/ids.ts", "src/db/lock.ts", "src/db/moments.ts"];

/** The files that an executable is made of, by its entry. */
async function inputsOf(entry: string) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-bundle-"));
  const metafile = join(directory, "meta.json");
  await Bun.$`${process.execPath} build ${entry} --target=bun --outdir ${directory} --metafile=${metafile}`.cwd(ROOT).quiet();
  const { inputs } = JSON.parse(readFileSync(metafile, "utf8")) as { inputs: Record<string, unknown> };
  rmSync(directory, { recursive: true });
  return Object.keys(inputs);
}

test("the agent's own executable holds neither the database nor the server", async () => {
  const FOREIGN =
    /node_modules\/(postgres|drizzle-orm|pg-boss|@electric-sql|prom-client)\/|^src\/(db|modules\/.*\/(routes|queries|services)|guards|jobs|startup|app|deps)\b/;
  const foreignIn = async (entry: string) => (await inputsOf(entry)).filter((path) => FOREIGN.test(path) && !LEAVES.includes(path));
  expect(await foreignIn("src/agent-main.ts")).toEqual([]);
  expect((await foreignIn("src/main.ts")).length).toBeGreaterThan(100);
});
