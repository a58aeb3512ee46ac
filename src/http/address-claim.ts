import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/** Holds a name in Linux's abstract socket namespace until this process ends; throws where it is taken. */
export const holdName = (name: string) => Bun.listen({ unix: `\0${name}`, socket: { data() {} } });

/**
 * Returns whether a process of this user holds the name. Anyone on the machine may take any name, but only processes of one
 * user can share a port.
 */
export function isHeldByThisUser(name: string) {
  const held = readFileSync("/proc/net/unix", "utf8")
    .split("\n")
    .filter((line) => line.endsWith(` @${name}`))
    .map((line) => `socket:[${line.split(/\s+/)[6]}]`);
  return readdirSync("/proc").some(
    (pid) => /^\d+$/.test(pid) && isOfThisUser(`/proc/${pid}`) && openFiles(`/proc/${pid}/fd`).some((file) => held.includes(file)),
  );
}

const isOfThisUser = (path: string) => attempt(() => statSync(path).uid) === process.getuid?.();
const openFiles = (path: string) => attempt(() => readdirSync(path))?.flatMap((file) => attempt(() => readlinkSync(`${path}/${file}`)) ?? []) ?? [];

/** Returns undefined where it fails: a process may end, and close files, while they are read. */
function attempt<Value>(read: () => Value) {
  try {
    return read();
  } catch {
    return;
  }
}
