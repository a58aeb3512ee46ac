import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

export const PROGRAM = resolve(import.meta.dir, "../../../dist/certitude");
const START_TIMEOUT_MS = 60_000;

type Environment = Record<string, string>;

/** An empty directory to start in, and another for the data; `remove` deletes both. */
export function newPlace() {
  if (!existsSync(PROGRAM)) throw new Error("There is no dist/certitude: bun run build makes it.");
  const root = mkdtempSync(join(tmpdir(), "certitude-"));
  const cwd = mkdtempSync(join(root, "cwd-"));
  return { cwd, dataDir: join(root, "data"), remove: () => rmSync(root, { recursive: true, force: true }) };
}

export type Place = { cwd: string; env: Environment };

/** Runs one command of the executable to its end. */
export async function run({ cwd, env }: Place, ...args: string[]) {
  const child = Bun.spawn([PROGRAM, ...args], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout: stdout.trim(), stderr: stderr.trim() };
}

/** Starts the executable's server, on a free port, and waits until it serves. `printed` holds what it prints beside its log. */
export async function serve({ cwd, env }: Place, ...args: string[]) {
  const child = Bun.spawn([PROGRAM, "serve", ...args], { cwd, env: { PORT: "0", ...env }, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const lines: Record<string, unknown>[] = [];
  const printed: string[] = [];
  const heard = new EventTarget();
  const started = Promise.withResolvers<string>();
  const output = readLines(child.stdout, (line) => {
    if (!line.startsWith("{")) {
      printed.push(line);
      return heard.dispatchEvent(new Event("line"));
    }
    const entry = JSON.parse(line) as Record<string, unknown>;
    lines.push(entry);
    if (entry.msg === "server listening") started.resolve(String(entry.url).replace(/\/$/, ""));
  });
  const faults = child.stderr.text();
  const failed = child.exited.then(async (code) => Promise.reject(new Error(`certitude ended with ${code}: ${await faults}`)));
  const late = Bun.sleep(START_TIMEOUT_MS).then(() => Promise.reject(new Error("certitude did not start in time")));
  late.catch(() => {});
  failed.catch(() => {});
  const url = await Promise.race([started.promise, failed, late]);
  /** Waits for a printed line with this text. */
  async function prints(text: string) {
    while (!printed.some((line) => line.includes(text))) {
      await Promise.race([failed, new Promise((resolve) => heard.addEventListener("line", resolve, { once: true }))]);
    }
  }
  async function stop(signal: NodeJS.Signals = "SIGTERM") {
    child.kill(signal);
    const code = await child.exited;
    await output;
    return code;
  }
  return { url, lines, printed, prints, stop };
}

/** Starts a command that goes on until it is ended, and keeps what it logs. */
export function start({ cwd, env }: Place, ...args: string[]) {
  const child = Bun.spawn([PROGRAM, ...args], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const lines: Record<string, unknown>[] = [];
  const output = readLines(child.stdout, (line) => lines.push(JSON.parse(line)));
  const faults = child.stderr.text();
  /** Waits for as many log lines with this message. */
  async function says(message: string, count = 1) {
    while (lines.filter(({ msg }) => msg === message).length < count) {
      if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} before it said "${message}": ${await faults}`);
      await Bun.sleep(20);
    }
  }
  async function stop(signal: NodeJS.Signals = "SIGTERM") {
    child.kill(signal);
    const code = await child.exited;
    await output;
    return { code, stderr: (await faults).trim() };
  }
  return { lines, says, stop };
}

async function readLines(stream: ReadableStream<Uint8Array>, each: (line: string) => void) {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const part of stream) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) each(line);
  }
}
