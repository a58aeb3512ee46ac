import { call } from "./call";
import { serve } from "./program";
import { openRaw } from "./raw";

type Server = ReturnType<typeof serve>;
type Started = { worker: number; pid: number };

/** Starts a server with two workers, and waits until both serve. */
export async function serveWithWorkers(env: Record<string, string>) {
  const server = serve(env, "--workers", "2");
  return { ...server, at: await server.url() };
}

/** The figures of the series that begin so. */
export const figures = async (url: string, series: string) =>
  (await call("GET", "/metrics", { url })).text.split("\n").flatMap((line) => (line.startsWith(series) ? Number(line.split(" ").at(-1)) : []));

export const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

/** The workers that the server has started, in order. */
export const startedWorkers = ({ lines }: Server): Started[] => lines.flatMap((line) => (line.includes('"worker started"') ? JSON.parse(line) : []));

/** Waits until it has started so many, and returns the last. */
export async function nthWorker(server: Server, count: number): Promise<Started> {
  for (;;) {
    const last = startedWorkers(server)[count - 1];
    if (last) return last;
    if (server.child.exitCode !== null) throw new Error(`it ended with ${server.child.exitCode}`);
    await Bun.sleep(20);
  }
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Waits until none of them is there any more: not even as a zombie. */
export async function allGone(workers: Started[]) {
  while (workers.some(({ pid }) => isAlive(pid))) await Bun.sleep(20);
}

/** A connection to this worker. The kernel chooses at each connection, so others are opened until it chooses this one. */
export async function connectToWorker(url: string, worker: number) {
  for (;;) {
    const connection = await openRaw(url);
    const ask = (method: string, path: string, headers: Record<string, string> = {}) => {
      const lines = Object.entries({ host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
      connection.begin(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
      return connection.answer();
    };
    const { body } = await ask("GET", "/metrics");
    if (/worker="(\d+)"/.exec(body)?.[1] === `${worker}`) return { ...connection, ask }; // its own figures come first
    connection.close();
  }
}

/** Returns whether a program listens there. */
export async function isOpen(url: string) {
  try {
    (await openRaw(url)).close();
    return true;
  } catch {
    return false;
  }
}
