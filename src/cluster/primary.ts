import type { Subprocess } from "bun";
import type { Logger } from "pino";
import type { Message } from "./channel";

/** A worker that ends sooner after its start than this has failed at once; one that lived longer starts with no failure. */
const SETTLED_AFTER_MS = 60_000;
const MAX_FAILURES = 5;
const FIRST_PAUSE_MS = 100;

/** This program once more: the executable alone, or Bun with the script. */
const PROGRAM = [process.execPath, ...process.execArgv, ...(Bun.main.startsWith("/$bunfs/") ? [] : [Bun.main])];

/** `options` of `serve` are passed on to each worker. */
type Settings = { workers: number; options: string[]; env: Record<string, string | undefined>; log: Logger };

/** Runs the workers of `serve --workers`: passes their messages on, and replaces one that ends. */
export function createPrimary({ workers, options, env, log }: Settings) {
  const children = new Map<number, Subprocess>();
  /** Which worker is at the other end of an open channel. */
  const channels = new Map<Subprocess, number>();
  const stopping = Promise.withResolvers<void>();
  let isStopping = false;
  process.once("exit", () => {
    for (const child of children.values()) child.kill("SIGKILL");
  });

  function relay(from: number, { to, ...message }: Message) {
    for (const [child, worker] of channels) if (worker !== from && worker === (to ?? worker)) child.send({ ...message, from });
  }

  function spawn(worker: number, onReady: (url: string) => void) {
    const child: Subprocess = Bun.spawn([...PROGRAM, "serve", "--workers", `${workers}`, "--worker", `${worker}`, ...options], {
      env,
      stdio: ["ignore", "inherit", "inherit"],
      ipc: (message: Message) => (message.topic === "ready" ? onReady(String(message.data)) : relay(worker, message)),
      onDisconnect: () => void channels.delete(child),
    });
    children.set(worker, child);
    channels.set(child, worker);
    log.info({ worker, pid: child.pid }, "worker started");
    return child;
  }

  /** Keeps one worker running until all stop. Rejects where it ends before it first serves, or again and again. */
  async function keep(worker: number, onReady: (url: string) => void) {
    let hasServed = false;
    for (let failures = 0; !isStopping; ) {
      const startedAt = performance.now();
      const child = spawn(worker, (url) => {
        hasServed = true;
        onReady(url);
      });
      await child.exited;
      children.delete(worker);
      if (isStopping) return;
      const reason = child.signalCode ?? `exit code ${child.exitCode}`;
      if (!hasServed) throw new Error(`Worker ${worker} ended before it served: ${reason}.`);
      failures = performance.now() - startedAt < SETTLED_AFTER_MS ? failures + 1 : 1;
      if (failures > MAX_FAILURES) throw new Error(`Worker ${worker} ended ${failures} times shortly after its start, the last time with ${reason}.`);
      const pause = FIRST_PAUSE_MS * 2 ** (failures - 1);
      log.warn({ worker, pid: child.pid, reason, pause }, "worker ended, starting another");
      await Promise.race([Bun.sleep(pause), stopping.promise]);
    }
  }

  /** Starts the workers, the one that runs the jobs first, and returns once all have ended. `onReady` gets the address when all serve. */
  async function run(onReady: (url: string) => void) {
    const slots: Promise<void>[] = [];
    let url = "";
    /** Returns when the worker serves or has ended. */
    function start(worker: number) {
      const ready = Promise.withResolvers<void>();
      const slot = keep(worker, (address) => {
        url = address;
        ready.resolve();
      });
      slots.push(slot);
      return Promise.race([ready.promise, slot]);
    }
    try {
      await start(1);
      await Promise.all(Array.from({ length: workers - 1 }, (_, index) => start(index + 2)));
      if (!isStopping) onReady(url);
      await Promise.all(slots);
    } finally {
      stop();
      await Promise.allSettled(slots);
    }
  }

  /** Lets each worker end its requests and then end. */
  function stop() {
    if (isStopping) return;
    isStopping = true;
    stopping.resolve();
    for (const child of children.values()) child.kill("SIGTERM");
  }

  return { run, stop };
}
