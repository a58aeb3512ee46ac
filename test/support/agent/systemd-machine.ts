import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { until } from "./observing";

const SCRIPT = join(import.meta.dir, "systemd-machine.sh");
const MAIN = resolve(import.meta.dir, "../../../src/agent-main.ts");

export type SystemdMachine = Awaited<ReturnType<typeof startSystemdMachine>>;

/**
 * Starts a systemd that has this machine's files and network, but changes none of them; the agent's own executable, and the
 * server's if it is given, are in its /usr/local/bin.
 */
export async function startSystemdMachine(...server: string[]) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-systemd-"));
  const executable = join(directory, "certitude-agent");
  await Bun.$`${process.execPath} build ${MAIN} --compile --minify --outfile ${executable}`.quiet();
  const disk = join(directory, "disk");
  mkdirSync(disk);
  const cgroup = join((await Bun.$`findmnt --noheadings --first-only --output TARGET --types cgroup2`.text()).trim(), `certitude-${process.pid}`);
  mkdirSync(cgroup);
  const enter = `echo $$ >${cgroup}/cgroup.procs && exec unshare --pid --fork --kill-child --mount-proc --mount --cgroup --uts --ipc "$@"`;
  const child = Bun.spawn(["sh", "-c", enter, "sh", "bash", SCRIPT, executable, disk, ...server], { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const said = child.stderr.text();
  const root = async () => {
    if (child.exitCode !== null) throw new Error(`no systemd runs: ${await said}`);
    return readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
  };

  /** Runs a command on that machine. */
  async function run(...argv: string[]) {
    const inside = Bun.spawn(["nsenter", "--target", await root(), "--mount", "--pid", "--cgroup", "--uts", "--ipc", ...argv], {
      env: { PATH: "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin", HOME: "/root" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [out, err, code] = await Promise.all([inside.stdout.text(), inside.stderr.text(), inside.exited]);
    return { code, out: out.trim(), err: err.trim() };
  }

  async function stop() {
    child.kill("SIGKILL");
    await child.exited;
    await until(async () => removeCgroup(cgroup));
    rmSync(directory, { recursive: true });
  }

  await until(async () => {
    const { out } = await run("systemctl", "is-system-running");
    if (out !== "running") throw new Error(`systemd says that it is ${out}`);
  });
  return {
    run,
    stop,
    agent: (...args: string[]) => run("certitude-agent", ...args),
    /** The same by a shell, as a person pastes it. */
    paste: (line: string) => run("sh", "-c", line),
    /** Returns the service's log. */
    log: async () => (await run("journalctl", "--unit", "certitude-agent", "--output", "cat", "--no-pager")).out,
    /** Writes a file on that machine. */
    write: (path: string, content: string) => run("sh", "-c", 'printf %s "$1" >"$2"', "sh", content, path),
  };
}

/** A control group can be removed once none of its processes is left. */
function removeCgroup(path: string) {
  if (!existsSync(path)) return;
  const inner = new Bun.Glob("**/cgroup.procs").scanSync(path);
  const names = [...inner].map((each) => join(path, each, ".."));
  for (const each of names.toSorted((one, other) => other.length - one.length)) rmdirSync(each);
}
