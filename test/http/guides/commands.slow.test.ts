import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { freePort } from "../../support/pki/tls-servers";
import { PROGRAM } from "../../support/server/program";

setDefaultTimeout(300_000);

/** In reading order: each goes on from the ones before. */
const GUIDES = ["first-hour", "hosts", "authority", "backup", "operating"];
/** Kept from the first guide for the others, as a reader's shell keeps it. */
const KEPT = "{ declare -p ME ORG TOKEN; declare -f api; } > kept";

type Block = { kind: "run" | "background" | "elsewhere"; text: string };

const directory = mkdtempSync(join(tmpdir(), "certitude-guides-"));
const servers: Bun.Subprocess[] = [];
let env: Record<string, string>;
let port: number;

beforeAll(async () => {
  port = await freePort();
  mkdirSync(join(directory, "bin"));
  mkdirSync(join(directory, "work"));
  symlinkSync(PROGRAM, join(directory, "bin/certitude"));
  env = { PATH: `${join(directory, "bin")}:${Bun.env.PATH}`, HOME: directory, PORT: String(port), REQUEST_TIMEOUT: "60", LOG_LEVEL: "warn" };
});

afterAll(async () => {
  for (const server of servers) server.kill();
  await Promise.all(servers.map((server) => server.exited));
  rmSync(directory, { recursive: true });
});

/** Returns the `sh` blocks of a guide, for this server's port. */
async function blocksOf(guide: string): Promise<Block[]> {
  const markdown = await Bun.file(resolve(import.meta.dir, `../../../src/guides/${guide}.md`)).text();
  return [...markdown.matchAll(/^```sh ?(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind, text = ""]) => ({
    kind: kind === "background" || kind === "elsewhere" ? kind : "run",
    text: text.replaceAll("127.0.0.1:3000", `127.0.0.1:${port}`),
  }));
}

const start = (argv: string[]) => Bun.spawn(argv, { cwd: join(directory, "work"), env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });

async function bash(script: string) {
  const child = start(["bash", "-c", script]);
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

async function begin(text: string) {
  const child = start(["bash", "-c", `exec ${text}`]);
  servers.push(child);
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (child.exitCode === null && !(await isReady())) await Bun.sleep(100);
  expect(child.exitCode).toBeNull();
}

test.each(GUIDES)("the commands of the guide %s succeed, one after the other", async (guide) => {
  const blocks = await blocksOf(guide);
  expect(blocks.length).toBeGreaterThan(2);
  for (const { text } of blocks.filter(({ kind }) => kind === "background")) await begin(text);
  const script = blocks.filter(({ kind }) => kind === "run").map(({ text }) => text);
  const { code, out, err } = await bash(["set -euo pipefail", "if [ -f kept ]; then . ./kept; fi", ...script, guide === "first-hour" ? KEPT : ""].join("\n"));
  expect({ code, ...(code !== 0 && { out, err }) }).toEqual({ code: 0 });
});

test("GET /docs 200 of the executable, too", async () => {
  for (const guide of GUIDES) expect((await fetch(`http://127.0.0.1:${port}/docs/${guide}`)).status).toBe(200);
});

/** Returns the commands of certitude in a text, each with its options. */
const commandsIn = (text: string) =>
  text
    .replaceAll("\\\n", " ")
    .split(/[\n;|&]|\$\(/)
    .map((line) =>
      line
        .trim()
        .replace(/'[^']*'/g, "x")
        .split(/\s+/),
    )
    .filter(([program]) => program === "certitude")
    .map(([, ...words]) => {
      const first = words.findIndex((word) => !/^[a-z-]+$/.test(word) || word.startsWith("-"));
      return { command: words.slice(0, first < 0 ? words.length : first), options: words.filter((word) => word.startsWith("--")) };
    });

test.each(GUIDES)("the commands that the guide %s has for another machine are of this shell and this program", async (guide) => {
  const elsewhere = (await blocksOf(guide)).filter(({ kind }) => kind === "elsewhere");
  for (const { text } of elsewhere) {
    expect(await bash(`bash -n <<'GUIDE'\n${text}\nGUIDE`)).toEqual({ code: 0, out: "", err: "" });
    for (const { command, options } of commandsIn(text)) {
      const { code, out } = await bash(`certitude ${command.join(" ")} --help`);
      expect({ command, code }).toEqual({ command, code: 0 });
      for (const option of options) expect(out).toContain(option);
    }
  }
});
