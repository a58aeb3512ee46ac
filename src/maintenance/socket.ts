import { chmodSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Hears of progress, a sentence at a time. */
export type Report = (line: string) => void;
/** A command's input for its task, as JSON. */
type Input = Record<string, unknown>;
/** The tasks that a running server does for commands on its machine. */
export type Tasks = Record<string, (report: Report, input: Input) => Promise<void>>;
type Message = { line?: string; fault?: string; done?: true };

/** Milliseconds. Bun ends a request on a Unix socket that is silent for ten seconds, and a task may say nothing for minutes. */
const BEAT_EVERY = 3_000;

const pathOf = (dataDir: string) => join(dataDir, "admin.sock");

/**
 * Listens on a Unix socket in DATA_DIR, a directory that only its owner can enter (Bun does not say who is at the other end of a
 * socket). Returns what ends it.
 */
export function serveTasks(dataDir: string, tasks: Tasks) {
  const path = pathOf(dataDir);
  rmSync(path, { force: true }); // left behind by a killed process; the lock on DATA_DIR is ours
  const server = Bun.serve({
    unix: path,
    async fetch(request) {
      const name = new URL(request.url).pathname.slice(1);
      const task = Object.hasOwn(tasks, name) ? tasks[name] : undefined;
      if (!task) return new Response("", { status: 404 });
      const input = (await request.json()) as Input;
      return new Response(streamOf((report) => task(report, input)));
    },
  });
  chmodSync(path, 0o600);
  return async () => {
    await server.stop(true);
    rmSync(path, { force: true });
  };
}

/** A second request for the same task waits for the first one to end. */
export function oneAtATime(task: Tasks[string]): Tasks[string] {
  let last: Promise<void> = Promise.resolve();
  return (report, input) => {
    const next = last.then(() => task(report, input));
    last = next.catch(() => {});
    return next;
  };
}

/** Returns JSON lines. The task continues after the reader has gone. */
function streamOf(task: (report: Report) => Promise<void>) {
  let isOpen = true;
  return new ReadableStream({
    async start(controller) {
      const send = (message: Message) => isOpen && controller.enqueue(`${JSON.stringify(message)}\n`);
      const beat = setInterval(() => send({}), BEAT_EVERY);
      try {
        await task((line) => send({ line }));
        send({ done: true });
      } catch (error) {
        send({ fault: (error as Error).message });
      } finally {
        clearInterval(beat);
      }
      if (isOpen) controller.close();
    },
    cancel() {
      isOpen = false;
    },
  });
}

/** Lets the server that holds DATA_DIR do a task. Returns false when none runs there; rejects with what went wrong. */
export async function askServer(dataDir: string, task: string, report: Report, input: Input = {}): Promise<boolean> {
  const unix = pathOf(dataDir);
  if (!existsSync(unix)) return false;
  const answer = await fetch(`http://localhost/${task}`, { unix, timeout: false, method: "POST", body: JSON.stringify(input) }).catch(noServer);
  if (!answer) return false;
  if (!answer.ok || !answer.body) throw new Error(`The server that runs on ${dataDir} knows no task "${task}": it is of another release.`);
  for await (const { line, fault, done } of messages(answer.body)) {
    if (line !== undefined) report(line);
    if (fault !== undefined) throw new Error(fault);
    if (done) return true;
  }
  throw new Error(ENDED);
}

const ENDED = "The server ended before the task was done.";

/** A killed server leaves its socket behind. */
function noServer(error: NodeJS.ErrnoException) {
  if (error.code !== "ECONNREFUSED") throw cutShort(error);
}

const cutShort = (error: unknown) => ((error as NodeJS.ErrnoException).code === "ECONNRESET" ? new Error(ENDED, { cause: error }) : error);

async function* messages(stream: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const part of stream) {
      const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line);
    }
  } catch (error) {
    throw cutShort(error);
  }
}
