import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Policy } from "#agent/policy/policy";
import type { OwnedServer } from "./owned-server";

const MAIN = resolve(import.meta.dir, "../../../src/agent-main.ts");

/** A program that ran, and whether the system could start it. */
export type Run = { argv: string[]; isStarted: boolean };

/** A joined host of an owned server: a scratch directory with the state, a policy, and a home; the agent on it is the real program. */
export async function newOwnedHost(server: OwnedServer, policy: Policy = {}) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-owned-"));
  const pathOf = (...names: string[]) => join(directory, ...names);
  mkdirSync(pathOf("home"));
  mkdirSync(pathOf("state"), { mode: 0o700 });
  await server.join(pathOf("state"));
  const setPolicy = (wanted: Policy) => writeFileSync(pathOf("policy.json"), JSON.stringify(wanted), { mode: 0o600 });
  setPolicy(policy);

  /** Runs a command of the agent to its end. Returns what it said, and each program that really was started, as strace sees it. */
  async function agent(args: string[], environment: Record<string, string> = {}) {
    const trace = pathOf("trace");
    const tracing = ["strace", "--seccomp-bpf", "-f", "-q", "-xx", "-s", "100000", "-e", "signal=none", "-e", "trace=execve,execveat", "-o", trace];
    const child = Bun.spawn([...tracing, process.execPath, MAIN, ...args], {
      cwd: directory,
      env: { PATH: pathWithoutBun, HOME: pathOf("home"), BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0", ...environment },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    const [, ...programs] = runsIn(readFileSync(trace, "utf8"));
    rmSync(trace);
    return { code, stdout, stderr, programs };
  }

  return {
    directory,
    pathOf,
    setPolicy,
    agent,
    /** One pass. */
    pass: (environment?: Record<string, string>) => agent(["--state-dir", pathOf("state"), "--policy", pathOf("policy.json"), "--once"], environment),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** `bun run` puts a `node` before the machine's own that is Bun. */
const pathWithoutBun = (Bun.env.PATH ?? "")
  .split(":")
  .filter((each) => !each.includes("bun-node"))
  .join(":");

/**
 * The programs of a trace, whose words strace writes in hexadecimal: one that was not found in one directory of PATH may be in
 * the next.
 */
function runsIn(trace: string): Run[] {
  const calls = [...trace.matchAll(/execve(?:at)?\(.*?\[(.*?)\].*?(?:= (-?\d+)|$)/gm)];
  return calls.map(([, words = "", result]) => ({
    argv: [...words.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, word = ""]) => Buffer.from(word.replaceAll("\\x", ""), "hex").toString()),
    isStarted: result === "0",
  }));
}
