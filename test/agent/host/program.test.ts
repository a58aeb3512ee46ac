import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { permittedCall } from "#agent/host/arguments";
import { thisHost } from "#agent/host/host";
import { ProgramFailure, runProgram } from "#agent/host/program";

setDefaultTimeout(300_000);

const host = thisHost({ PATH: Bun.env.PATH, HOME: "/home/agent", SECRET: "of the agent", LD_PRELOAD: "/evil.so", JAVA_HOME: "/jdk" });
const run = (argv: string[], options = {}) => runProgram(host, permittedCall(argv), options);
const failureOf = (argv: string[], options = {}) =>
  run(argv, options).then(
    () => "it did not fail",
    (error: Error) => error.message,
  );

describe("a program of the host", () => {
  test("knows of the agent's environment only what it needs, and what it is given", async () => {
    const { stdout } = await run(["env"], { environment: { PASSWORD: "given" } });
    const names = stdout
      .trim()
      .split("\n")
      .map((line) => line.slice(0, line.indexOf("=")));
    expect(names.toSorted()).toEqual(["HOME", "JAVA_HOME", "LC_ALL", "PASSWORD", "PATH"]);
    expect(stdout).toContain("HOME=/home/agent\n");
  });

  test("is run without a shell, with nothing to read or what it is given, as the user that it is to be", async () => {
    const words = ["$HOME", "; touch /tmp/evil", "`id`", "a b", ""];
    expect((await run(["printf", "<%s>", ...words])).stdout).toBe(words.map((each) => `<${each}>`).join(""));
    expect((await run(["cat"])).stdout).toBe("");
    expect((await run(["cat"], { input: "to read" })).stdout).toBe("to read");
    expect((await run(["true"], { input: "x".repeat(1_000_000) })).stdout).toBe(""); // it reads nothing of it
    expect((await run(["id", "-u"], { user: { uid: 65_534, gid: 65_534 } })).stdout).toBe("65534\n");
  });

  test("fails in words: its exit code or signal with its last words, or why it could not be started", async () => {
    const directory = mkdtempSync(join(tmpdir(), "certitude-tool-"));
    const plain = join(directory, "plain");
    writeFileSync(plain, "no program");
    expect(await failureOf(["sh", "-c", "echo out; echo why >&2; exit 3"])).toBe("sh ended with exit code 3: ‹why›.");
    expect(await failureOf(["sh", "-c", "echo out; exit 3"])).toBe("sh ended with exit code 3: ‹out›.");
    expect(await failureOf(["false"])).toBe("false ended with exit code 1: it said nothing.");
    expect(await failureOf(["sh", "-c", "kill -TERM $$"])).toBe("sh was ended by SIGTERM: it said nothing.");
    expect(await failureOf(["no-such-tool"])).toBe("no-such-tool is not installed on this host, or not on the agent's PATH.");
    expect(await failureOf([plain])).toStartWith(`${plain} could not be started: `);
    const long = await failureOf(["sh", "-c", "seq 100000 >&2; exit 1"]);
    expect(long).toEndWith(" 99999 100000›.");
    expect(long.length).toBeLessThan(600);
    expect(await run(["sh", "-c", "echo out; exit 1"]).catch((error: unknown) => error instanceof ProgramFailure && error.output.stdout)).toBe("out\n");
    rmSync(directory, { recursive: true });
  });

  test("may say more than a pipe holds, and no more than the agent keeps", async () => {
    expect((await run(["head", "-c", "20000000", "/dev/zero"])).stdout.length).toBe(16 * 1024 * 1024);
  });
});
