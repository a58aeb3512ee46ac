import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { newDirectory, PROGRAM } from "../support/server/program";

setDefaultTimeout(300_000);
const { directory, remove } = newDirectory();
afterAll(remove);

/** A host that has not joined: the agent says that it has started, and ends. */
const command = (...args: string[]) => [PROGRAM, "agent", "run", "--state-dir", join(directory, "state"), ...args];
const env = { PATH: Bun.env.PATH ?? "" };
const TEXT = /^\d{4}-\d\d-\d\dT[\d:.]+Z agent started stateDir=/;
const isJson = (text: string) => JSON.parse(text.split("\n")[0] ?? "").msg === "agent started";

async function inFile(argv: string[], environment: Record<string, string> = {}) {
  const path = join(directory, crypto.randomUUID());
  const child = Bun.spawn(argv, { env: { ...env, ...environment }, stdout: Bun.file(path), stderr: "ignore" });
  expect(await child.exited).toBe(2);
  return readFileSync(path, "utf8");
}

async function inPipe(argv: string[]) {
  const child = Bun.spawn(argv, { env, stdout: "pipe", stderr: "ignore" });
  return child.stdout.text();
}

test("the agent's log is text in a file by hand, and JSON where a program reads it: a pipe, a service of systemd that writes to a file", async () => {
  expect(await inFile(command())).toMatch(TEXT);
  expect(isJson(await inPipe(command()))).toBe(true);
  expect(isJson(await inFile(["sh", "-c", 'SYSTEMD_EXEC_PID=$$ exec "$@"', "sh", ...command()]))).toBe(true);
  expect(await inFile(command(), { SYSTEMD_EXEC_PID: "1" })).toMatch(TEXT); // of a shell that a service has started
});

test("the agent's log is text on a terminal: short lines without their time", async () => {
  const typed = await inPipe(["script", "--quiet", "--return", "--command", command().join(" "), "/dev/null"]);
  expect(typed).toContain("agent started ");
  expect(typed).not.toContain('"msg"');
});

test("--log-format says it for certain, and takes nothing else", async () => {
  expect(isJson(await inFile(command("--log-format", "json")))).toBe(true);
  expect(await inPipe(command("--log-format", "text"))).toMatch(TEXT);
  const child = Bun.spawn(command("--log-format", "xml"), { env, stdout: "ignore", stderr: "pipe" });
  expect([await child.exited, await child.stderr.text()]).toEqual([2, expect.stringContaining("Allowed choices are auto, text, json")]);
});
