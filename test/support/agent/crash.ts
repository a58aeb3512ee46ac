import { basename } from "node:path";
import { type Place, PROGRAM } from "../server/executable";

const CHANGES = "mkdir,rmdir,write,pwrite64,chmod,fchmod,chown,fchown,rename,renameat,renameat2,unlink,unlinkat,execve";
/** No steps: who dies before one leaves what it would leave before the next step. */
const SYNCS = "fsync,fdatasync";
const MESSAGES = "connect,sendto";

/** The handles by which the agent may hold a directory open: it names what lies there below one of them. */
const HANDLES = Array.from({ length: 60 }, (_, index) => `/proc/self/fd/${index + 3}`);
const waysTo = (path: string) => [path, ...HANDLES.map((handle) => `${handle}/${basename(path)}`)];

/** The step that is never taken: the first is 1. Each is held for so many milliseconds, so that the kill comes in time. */
type Doom = { step: number; hold: number };

/**
 * Runs a command and kills it by strace right before one of its steps: a change to one of `paths` or, without paths, a message
 * to the server. Returns the begun steps, the syncs and the exit code.
 */
export async function runAndKillAt({ cwd, env }: Place, paths: string[], { step, hold }: Doom, ...args: string[]) {
  const calls = paths.length > 0 ? CHANGES : MESSAGES;
  const tracing = ["-f", "-q", "-yy", "-s", "0", "-e", "signal=none", "-e", `trace=${calls},${SYNCS}`, "-e", `inject=${calls}:delay_enter=${hold * 1_000}`];
  // The shell tells its process id, which then is the program's.
  const program = ["sh", "-c", 'echo $$; exec "$0" "$@"', PROGRAM, ...args];
  const child = Bun.spawn(["strace", ...tracing, ...paths.flatMap(waysTo).flatMap((path) => ["-P", path]), ...program], {
    cwd,
    env: { PATH: Bun.env.PATH ?? "", ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = readPid(child.stdout);
  const begun = paths.length > 0 ? /^(?:\[pid +\d+\] )?(\w+)\(/gm : /^(?:\[pid +\d+\] )?(\w+)\(\d+<TCP/gm;
  const callsIn = (text: string) => [...text.matchAll(begun)].map(([, call = ""]) => call);
  const isSync = (call: string) => SYNCS.split(",").includes(call);
  const stepsIn = (text: string) => callsIn(text).filter((call) => !isSync(call));
  let printed = "";
  let isKilled = false;
  for await (const part of child.stderr) {
    printed += Buffer.from(part).toString();
    if (isKilled || stepsIn(printed).length < step) continue;
    isKilled = true;
    process.kill(await output.pid, "SIGKILL");
  }
  await output.end;
  return { isKilled, steps: stepsIn(printed), syncs: callsIn(printed).filter(isSync).length, code: await child.exited };
}

/** Returns the number in the first line; the rest is read and dropped. */
function readPid(stream: ReadableStream<Uint8Array>) {
  const { promise: pid, resolve } = Promise.withResolvers<number>();
  async function read() {
    let text = "";
    for await (const part of stream) {
      text += Buffer.from(part).toString();
      const [, digits] = /^([1-9]\d*)\n/.exec(text) ?? [];
      if (digits) resolve(Number(digits));
    }
  }
  return { pid, end: read() };
}
