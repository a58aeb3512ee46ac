import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { packedPath } from "#db/template";
import { createScratchDatabase, environment } from "./world";

/** The program as `bun run build` makes it, because it starts in a fraction of the time that its sources take. */
export const PROGRAM = await build();

async function build() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-build-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const executable = join(directory, "certitude");
  const main = resolve(import.meta.dir, "../../../src/main.ts");
  const options = ["--compile", "--minify", "--bytecode", "--no-compile-autoload-dotenv", "--no-compile-autoload-bunfig"];
  await Bun.$`${process.execPath} build ${main} ${packedPath} ${options} --outfile ${executable}`.quiet();
  return executable;
}

type Environment = Record<string, string>;

/** A temporary directory, and the environment of a program that keeps its embedded database in it. */
export function newDirectory() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-program-"));
  const env: Environment = { PATH: Bun.env.PATH ?? "", PORT: "0", DATA_DIR: join(directory, "data"), REQUEST_TIMEOUT: "60" };
  return { directory, env, remove: async () => rmSync(directory, { recursive: true }) };
}

/** The same with an empty database on the server of TEST_DATABASE_URL, where there is one. */
export async function newPlace() {
  const place = newDirectory();
  if (!Bun.env.TEST_DATABASE_URL) return place;
  const { url, drop } = await createScratchDatabase(Bun.env.TEST_DATABASE_URL);
  const { JWT_SECRET, SECRETS_KEY } = environment;
  async function remove() {
    await drop();
    await place.remove();
  }
  return { ...place, env: { ...place.env, DATABASE_URL: url, JWT_SECRET, SECRETS_KEY }, remove };
}

/** Starts the program with nothing of this process's environment. */
const start = (args: string[], env: Environment) => Bun.spawn([PROGRAM, ...args], { env, cwd: tmpdir(), stdin: "ignore", stdout: "pipe", stderr: "pipe" });

/** Runs one command to its end. */
export async function run(args: string[], env: Environment = newDirectoryless) {
  const child = start(args, env);
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out: out.trim(), err: err.trim() };
}
const newDirectoryless: Environment = { PATH: Bun.env.PATH ?? "", DATA_DIR: "/nowhere/at/all" };

const servers = new Set<Bun.Subprocess>();

/** Ends the servers that a failed test left behind. */
export function endServers() {
  for (const each of servers) each.kill("SIGKILL");
  servers.clear();
}

/** Starts `serve` and collects what it says. */
export function serve(env: Environment, ...options: string[]) {
  const child = start(["serve", ...options], env);
  servers.add(child);
  const lines: string[] = [];
  const ended = collect(child.stdout, lines);
  const failure = child.stderr.text();
  /** The first line that holds `text`. */
  async function says(text: string): Promise<string> {
    for (;;) {
      const line = lines.find((each) => each.includes(text));
      if (line) return line;
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} before it said "${text}": ${await failure}`);
      await Bun.sleep(20);
    }
  }
  const url = async () => String(JSON.parse(await says("server listening")).url).replace(/\/$/, "");
  async function exit(signal?: NodeJS.Signals) {
    if (signal) child.kill(signal);
    const code = await child.exited;
    await ended;
    return { code, err: (await failure).trim() };
  }
  return { child, lines, says, url, exit };
}

/** Returns the last lines of the demo's output to open and to paste: the console's link, then commands. */
export function demoCommands(lines: string[]) {
  const text = lines.slice(lines.findLastIndex((line) => line.startsWith("Certitude is ready"))).join("\n");
  return text.split("\n\n").flatMap((part) => part.match(/^ {2}\S.*/ms)?.[0] ?? []);
}

async function collect(stream: ReadableStream<Uint8Array>, lines: string[]) {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of stream) {
    const whole = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = whole.pop() ?? "";
    lines.push(...whole);
  }
}
