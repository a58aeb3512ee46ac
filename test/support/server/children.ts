import { readdirSync, readFileSync } from "node:fs";

/** Returns a file of a process in /proc; empty where the process has ended. */
export function readProcess(pid: number, file: "cmdline" | "environ" | "stat") {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return "";
  }
}

const parentOf = (pid: number) => Number(readProcess(pid, "stat").split(") ").at(-1)?.split(" ")[1]);

/** Returns the processes of ours that make RSA keys. */
export const listKeyProcesses = () =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => parentOf(pid) === process.pid && readProcess(pid, "cmdline").includes("generateKeyPairSync"));

/** Waits for a process that makes an RSA key, and has it stand still, so that it never ends by itself. */
export async function stopKeyProcess() {
  for (;;) {
    const [pid] = listKeyProcesses();
    if (pid === undefined) await Bun.sleep(1);
    else {
      process.kill(pid, "SIGSTOP");
      return pid;
    }
  }
}

/** Waits until none of these processes is there. */
export async function untilGone() {
  while (listKeyProcesses().length > 0) await Bun.sleep(1);
}
