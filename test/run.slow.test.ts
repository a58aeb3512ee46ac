import { afterAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-run-"));
afterAll(() => rmSync(directory, { recursive: true }));
beforeEach(() => {
  rmSync(directory, { recursive: true });
  mkdirSync(directory);
  mkdirSync(join(directory, "test"));
});

const GOOD = "test('is good', () => {});";

/** Puts test files with these bodies, by name, into the directory. */
function put(files: Record<string, string>) {
  for (const [name, body] of Object.entries(files)) writeFileSync(join(directory, "test", `${name}.test.ts`), `import { test } from "bun:test";\n${body}\n`);
}

function start(...argv: string[]) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "run.ts"), ...argv], { cwd: directory, stdin: "ignore", stdout: "pipe" });
  const end = async () => ({ lines: (await new Response(child.stdout).text()).trimEnd().split("\n"), code: await child.exited });
  return { child, end };
}
const run = (files: Record<string, string>, ...argv: string[]) => {
  put(files);
  return start(...argv).end();
};

test("passes where every file does", async () => {
  const { lines, code } = await run({ a: GOOD, b: GOOD, "c.slow": GOOD });
  expect([lines.at(-1), code]).toEqual(["2 passed, 0 failed", 0]);
});

test.each([
  ["fails", "test('is bad', () => { throw new Error(); });", "failed: test/b.test.ts: is bad"],
  ["cannot be read", "import './nothing';", "failed: test/b.test.ts: an error beside its tests"],
  ["throws between its tests", `${GOOD} throw new Error();`, "failed: test/b.test.ts: an error beside its tests"],
  ["is killed", "test('dies', () => process.kill(process.pid, 'SIGKILL'));", "failed: part 2 of 4 ended with 137"],
  ["ends its process as if all were well", "test('ends', () => process.exit(0));", "failed: part 2 of 4 ended with 0"],
])("fails where a file %s", async (_, body, said) => {
  const { lines, code } = await run({ a: GOOD, b: body }, "--processes=2");
  expect(lines).toContainEqual(expect.stringContaining(said));
  expect([lines.at(-1), code]).toEqual(["1 passed, 1 failed", 1]);
});

test("ends although a program runs on that a file has started before it was killed", async () => {
  const pidFile = join(directory, "pid");
  const body = `test('dies', async () => {
    await Bun.write(${JSON.stringify(pidFile)}, String(Bun.spawn(["sleep", "600"]).pid));
    process.kill(process.pid, "SIGKILL");
  });`;
  const { lines, code } = await run({ a: body });
  process.kill(Number(await Bun.file(pidFile).text()));
  expect([lines.at(-1), code]).toEqual(["0 passed, 1 failed", 1]);
});

test("--slow runs slow files alone, and of these those whose path has a word", async () => {
  const files = { near: GOOD, "near.slow": GOOD, "far.slow": GOOD };
  expect((await run(files, "--slow")).lines.at(-1)).toBe("2 passed, 0 failed");
  expect((await run(files, "--slow", "near")).lines.at(-1)).toBe("1 passed, 0 failed");
});

test.each(["SIGINT", "SIGTERM"] as const)("ends its processes at %s, and begins no other part", async (signal) => {
  const pids = () => readdirSync(directory).filter((name) => /^\d+$/.test(name));
  const body = `test('waits', async () => {
    await Bun.write(${JSON.stringify(directory)} + "/" + process.pid, "");
    while (true) await Bun.sleep(20);
  });`;
  put({ a: body, b: body, c: body, d: body });
  const { child, end } = start("--processes=2");
  while (pids().length < 2) await Bun.sleep(20);
  child.kill(signal);
  expect((await end()).code).toBe(1);
  expect(pids()).toHaveLength(2);
  for (const pid of pids()) expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
});

test("takes away at Ctrl-C what its processes have made", async () => {
  const said = join(directory, "made");
  writeFileSync(join(directory, "bunfig.toml"), `[test]\npreload = [${JSON.stringify(join(import.meta.dir, "preload.ts"))}]\n`);
  put({
    a: `import { world } from ${JSON.stringify(join(import.meta.dir, "support/server/world.ts"))};
    test("waits", async () => {
      await Bun.write(${JSON.stringify(said)}, world.directory);
      while (true) await Bun.sleep(20);
    });`,
  });
  const { child, end } = start();
  let made = "";
  while (made === "") {
    await Bun.sleep(20);
    if (existsSync(said)) made = await Bun.file(said).text();
  }
  expect(existsSync(made)).toBe(true);
  child.kill("SIGINT");
  await end();
  expect(existsSync(made)).toBe(false);
});
