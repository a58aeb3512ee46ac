import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-hangup-"));
afterAll(() => rmSync(directory, { recursive: true }));
const HEARD = "asked for a pass at once (SIGHUP)";
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, `cag_${"a".repeat(43)}`, { mode: 0o600 });
/** Sends the process SIGHUP when it begins to load its commands. */
const preload = join(directory, "preload.ts");
writeFileSync(
  preload,
  `import { readFileSync } from "node:fs";
Bun.plugin({
  name: "hangup",
  setup: (build) =>
    void build.onLoad({ filter: /src\\/commands\\/agent-program\\.ts$/ }, ({ path }) => {
      process.kill(process.pid, "SIGHUP");
      return { contents: readFileSync(path, "utf8"), loader: "ts" };
    }),
});
`,
);

test("SIGHUP while the agent is being loaded does not end it, and is remembered", async () => {
  const options = ["run", "--server", "http://127.0.0.1:1", "--token-file", tokenFile, "--state-dir", join(directory, "state")];
  const argv = [process.execPath, "--preload", preload, resolve(import.meta.dir, "../../src/agent-main.ts"), ...options];
  const env = { ...Bun.env, BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0" }; // shared by all programs, and plugins are no part of its keys
  const child = Bun.spawn(argv, { env, stdout: "pipe", stderr: "inherit" });
  let said = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    const wasHeard = said.includes(HEARD);
    said += part;
    if (!wasHeard && said.includes(HEARD)) child.kill("SIGTERM");
  }
  expect([await child.exited, child.signalCode]).toEqual([0, null]);
  expect(said).toContain(HEARD);
});
