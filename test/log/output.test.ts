import { describe, expect, test } from "bun:test";

/** Writes so many numbered lines, and ends in one of several ways. */
const PROGRAM = `
  import { createLogOutput } from ${JSON.stringify(Bun.resolveSync("#log/output", import.meta.dir))};
  const [count, end, shared] = process.argv.slice(1);
  const output = createLogOutput(1, shared === "shared");
  for (let n = 0; n < Number(count); n++) output.write(n + " " + "x".repeat(200) + "\\n");
  const flush = () => output.flush(() => process.exit(0));
  if (end === "exits") process.exit(3);
  if (end === "crashes") setTimeout(() => { throw new Error("as planned"); });
  if (end === "flushes") flush();
  if (end === "waits for SIGTERM") process.once("SIGTERM", flush) && setInterval(() => {}, 1_000);
  console.error("ready");`;
const command = (count: number, end: string) => [process.execPath, "-e", PROGRAM, String(count), end];
const start = (count: number, end: string) => Bun.spawn(command(count, end), { stdout: "pipe", stderr: "pipe" });

/** The numbers of the lines, each of which must be whole. */
function numbersOf(text: string) {
  expect(text).toEndWith("\n");
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => {
      expect(line).toMatch(/^\d+ x{200}$/);
      return Number.parseInt(line, 10);
    });
}
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

describe("log lines", () => {
  test.each([
    [1, "exits", 3],
    [50, "exits", 3],
    [50, "crashes", 1],
    [20_000, "flushes", 0],
    [1, "has nothing more to do", 0],
    [20_000, "has nothing more to do", 0],
  ])("are all there, whole and in order: %d of a process that %s", async (count, end, exitCode) => {
    const child = start(count, end);
    expect(numbersOf(await child.stdout.text())).toEqual(upTo(count));
    expect(await child.exited).toBe(exitCode);
  });

  test("are all there after SIGTERM", async () => {
    const child = start(20_000, "waits for SIGTERM");
    await child.stderr.getReader().read(); // it is ready
    child.kill("SIGTERM");
    expect(numbersOf(await child.stdout.text())).toEqual(upTo(20_000));
    expect(await child.exited).toBe(0);
  });

  test("hold nothing up while nobody reads them, and are all there later", async () => {
    const child = start(20_000, "has nothing more to do"); // far more than a pipe holds
    expect(new TextDecoder().decode((await child.stderr.getReader().read()).value)).toBe("ready\n");
    expect(numbersOf(await child.stdout.text())).toEqual(upTo(20_000));
    expect(await child.exited).toBe(0);
  });

  test("are dropped where too many wait for a reader, and counted", async () => {
    const child = start(200_000, "has nothing more to do"); // 41 MB
    await child.stderr.getReader().read(); // all are made
    const lines = (await child.stdout.text()).trimEnd().split("\n");
    const { time, ...report } = JSON.parse(lines.pop() ?? "");
    expect(lines.map((line) => Number.parseInt(line, 10))).toEqual(upTo(lines.length));
    expect(report).toEqual({ level: 40, lines: 200_000 - lines.length, msg: "log lines lost" });
    expect(await child.exited).toBe(0);
  });

  test("are dropped where the disk is full, and hold nothing up", async () => {
    const child = Bun.spawn(command(20_000, "flushes"), { stdout: Bun.file("/dev/full"), stderr: "pipe" });
    expect(await child.exited).toBe(0);
    expect(await child.stderr.text()).toBe("ready\n");
  });

  test("are whole where two processes share a pipe that is full", async () => {
    const script = '"$@" shared & "$@" shared & wait';
    const child = Bun.spawn(["sh", "-c", script, "sh", ...command(20_000, "has nothing more to do")], { stdout: "pipe", stderr: "pipe" });
    const said = child.stderr.getReader();
    for (let ready = 0; ready < 2; ) ready += new TextDecoder().decode((await said.read()).value).split("\n").length - 1;
    const numbers = numbersOf(await child.stdout.text());
    expect(numbers.sort((one, other) => one - other)).toEqual(upTo(20_000).flatMap((n) => [n, n]));
  });

  test("are dropped where the reader is gone, without an error", async () => {
    const script = '"$@" | head -c 1 > /dev/null; echo done';
    const child = Bun.spawn(["sh", "-c", script, "sh", ...command(20_000, "flushes")], { stdout: "pipe", stderr: "pipe" });
    expect([await child.stdout.text(), await child.stderr.text()]).toEqual(["done\n", "ready\n"]);
  });
});
