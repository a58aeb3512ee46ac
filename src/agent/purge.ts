import { lstat, readdir, readFile, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { argvOf } from "./host/arguments";
import { absent, isTemporary, removeFile } from "./host/files";
import type { Host } from "./host/host";
import { runProgram } from "./host/program";
import { lockOf } from "./policy-turn";
import { quoteArgument, UNIT_DIRECTORY, UNIT_MARK, UNIT_NAME } from "./unit";

/** A thing of the agent's own that is gone, that stays because others have put something there, or that could not be removed; with why. */
export type Purged = { path: string; state: "removed" | "kept" | "failed"; why?: string };
type Places = { stateDirectory: string; policyFile: string; units?: string };

/** The files that the agent keeps in its directory; anything else there is another's. */
const OWN_FILES = /^((identity|joining|trusted-key|desired-state|challenges|keystores)\.json|policy-file|lock(-journal)?)$/;
const OWN_DIRECTORIES = ["assignments", "keys"];
const OWN_RECORDS = /^[0-9a-f-]{36}\.(json|json\.damaged|pem)$/;

/**
 * Removes the agent's service, policy and directory (identity, keys, records), once all that it installed is gone. Hooks, the
 * program and the service's account stay: they are not the agent's.
 */
export async function purge({ stateDirectory, policyFile, units = UNIT_DIRECTORY }: Places, host: Host): Promise<Purged[]> {
  const unit = await readUnit(join(units, UNIT_NAME), stateDirectory);
  const [, metricsFile] = / --metrics-file ([\w@+=:,./-]+)/.exec(unit ?? "") ?? [];
  const purged: Purged[] = [];
  /** `remove` returns why it stays, where it is to stay. */
  async function take(path: string, remove: () => Promise<unknown>) {
    if (!(await lstat(path).catch(absent))) return;
    try {
      const why = await remove();
      purged.push({ path, ...(typeof why === "string" ? { state: "kept", why } : { state: "removed" }) });
    } catch (error) {
      purged.push({ path, state: "failed", why: (error as Error).message });
    }
  }
  if (unit !== undefined) await take(join(units, UNIT_NAME), () => removeUnit(units, host));
  if (metricsFile !== undefined) await take(metricsFile, () => removeFile(metricsFile));
  await take(policyFile, () => removeFile(policyFile));
  await take(lockOf(policyFile), () => removeFile(lockOf(policyFile)));
  await take(host.hooks, () => removeEmpty(host.hooks));
  await take(dirname(host.hooks), () => removeEmpty(dirname(host.hooks)));
  await take(stateDirectory, () => removeState(stateDirectory));
  return purged;
}

/** Returns the unit's text where it is the one of the agent with this directory. */
async function readUnit(path: string, stateDirectory: string) {
  const text = await readFile(path, "utf8").catch(absent);
  return text?.startsWith(UNIT_MARK) && text.includes(` --state-dir ${quoteArgument(stateDirectory)} `) ? text : undefined;
}

async function removeUnit(units: string, host: Host) {
  const isRunning = units === UNIT_DIRECTORY && (await lstat("/run/systemd/system").catch(absent)) !== undefined;
  if (isRunning) await runProgram(host, argvOf("systemctl", "disable", "--now", UNIT_NAME));
  else await removeFile(join(units, "multi-user.target.wants", UNIT_NAME));
  await removeFile(join(units, UNIT_NAME));
  if (isRunning) await runProgram(host, argvOf("systemctl", "daemon-reload"));
}

async function removeState(directory: string) {
  for (const each of OWN_DIRECTORIES) await removeOwn(join(directory, each), OWN_RECORDS);
  return removeOwn(directory, OWN_FILES);
}

/** Removes the agent's own files from a directory, and the directory where nothing else is in it. Returns why it stays. */
async function removeOwn(directory: string, own: RegExp) {
  const names = await readdir(directory).catch(absent);
  if (!names) return undefined;
  for (const name of names) if (own.test(name) || isTemporary(name)) await removeFile(join(directory, name));
  return removeEmpty(directory);
}

async function removeEmpty(directory: string) {
  const left = (await readdir(directory)).toSorted();
  if (left.length > 0) return `It holds what the agent has not put there: ${left.slice(0, 5).join(", ")}${left.length > 5 ? " …" : ""}. Remove that by hand.`;
  await rmdir(directory);
}
