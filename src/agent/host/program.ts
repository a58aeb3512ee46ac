import { spawn } from "node:child_process";
import type { Argv } from "./arguments";
import { foreign } from "./foreign";
import { withDirectory } from "./held-directory";
import type { Host } from "./host";

export type User = { uid: number; gid: number };
type Options = {
  environment?: Record<string, string>;
  user?: User;
  /** The working directory, a relative one even if its path is replaced. Without `user` the program runs as the directory's owner. */
  directory?: string;
  /** The tool's standard input. */
  input?: string;
};
type Outcome = { stdout: string; stderr: string };

/** A tool that ended otherwise than it should, with all that it said. */
export class ProgramFailure extends Error {
  constructor(
    message: string,
    readonly output: Outcome,
  ) {
    super(message);
  }
}

const MAX_OUTPUT = 16 * 1024 * 1024;
const MAX_ERROR = 4_000;
const SHOWN = 500;

/** Runs a program of the host without a shell and returns its output. A failure or a run that takes too long is an error in words. */
export function runProgram(host: Host, argv: Argv, { directory, ...options }: Options = {}): Promise<Outcome> {
  if (directory === undefined) return runIn("/", host, argv, options);
  return withDirectory(directory, (held) => {
    const { uid, gid } = held.attributes();
    const owner = process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : undefined;
    const user = options.user ?? owner;
    return runIn(held.at("."), host, argv, { ...options, ...(user && { user }) });
  });
}

type Run = Omit<Options, "directory">;

async function runIn(cwd: string, host: Host, [program = "", ...args]: Argv, { environment, user, input }: Run): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const { PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", JAVA_HOME, TMPDIR } = host.environment;
  const env = { PATH, HOME: host.home, LC_ALL: "C.UTF-8", ...(JAVA_HOME && { JAVA_HOME }), ...(TMPDIR && { TMPDIR }), ...environment };
  // Its own process group, so that whatever it started ends with it.
  const options = { env, cwd, detached: true, ...user };
  const child = input === undefined ? spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] }) : spawn(program, args, options);
  child.stdin?.on("error", () => {}).end(input); // a tool that ends before it has read everything says why by its exit code
  const timeout = host.patience.tool;
  const output = { stdout: "", stderr: "" };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child.pid);
  }, timeout);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.stdout = (output.stdout + text).slice(0, MAX_OUTPUT);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output.stderr = (output.stderr + text).slice(-MAX_ERROR);
  });
  child.on("error", (error: NodeJS.ErrnoException) => reject(new Error(whyNotStarted(program, error))));
  // A daemon that it leaves behind may hold the pipes open for ever: what has arrived soon after the end is all.
  child.on("exit", (code, signal) => {
    const end = () => {
      child.stdout.destroy();
      child.stderr.destroy();
      if (isLate) reject(new Error(`${program} did not end within ${timeout / 1000} s and was stopped.`));
      else if (code === 0) resolve(output);
      else reject(new ProgramFailure(`${program} ${signal ? `was ended by ${signal}` : `ended with exit code ${code}`}: ${lastWords(output)}`, output));
    };
    const patience = setTimeout(end, 200);
    child.on("close", () => {
      clearTimeout(patience);
      end();
    });
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

function endGroup(pid: number | undefined) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function whyNotStarted(program: string, { code, message }: NodeJS.ErrnoException) {
  if (code === "ENOENT") return `${program} is not installed on this host, or not on the agent's PATH.`;
  return `${program} could not be started: ${foreign(message)}.`;
}

/** The end of what a failed program said, on one line. */
function lastWords({ stdout, stderr }: Outcome) {
  const words = (stderr.trim() || stdout.trim()).replace(/\s+/g, " ");
  if (words === "") return "it said nothing.";
  return `${foreign(words.length > SHOWN ? `… ${words.slice(-SHOWN)}` : words)}.`;
}
