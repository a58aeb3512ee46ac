import { constants } from "node:fs";
import { lstat, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { absent, inWords, writeAtomically } from "../host/files";
import { faultOnTheWay, foreign, isTrusted, isWritableByOthers } from "../host/trusted-path";
import { parsePolicy } from "./parse";
import type { Policy } from "./policy";

/** The content of a policy file, or all of its faults, a sentence each; undefined where there is no file. */
export type Reading = { policy: Policy } | { faults: string[] } | undefined;

const MAX_FILE = 1024 * 1024;
const MODE = 0o644;

/**
 * Returns what the policy file says; undefined where there is none. It counts only if no other user can change it, by its place
 * neither.
 */
export async function readPolicyFile(path: string): Promise<Reading> {
  const fault = await faultOnTheWay(path, "the policy");
  if (fault) return { faults: [fault] };
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    .catch(absent)
    .catch(inWords(path, "read"));
  if (!handle) return undefined;
  try {
    const found = await handle.stat();
    if (!found.isFile()) return { faults: [`${path} is not a plain file.`] };
    if (!isTrusted(found.uid)) return { faults: [`${path} ${foreign(found.uid)} Give it to root: chown root ${path}`] };
    if (isWritableByOthers(found)) return { faults: [`${path} may be written by other users, so that it proves nothing: chmod go-w ${path}`] };
    if (found.size > MAX_FILE) return { faults: [`${path} has over 1 MiB, which no policy has.`] };
    const parsed = parsePolicy(await handle.readFile("utf8"));
    return "policy" in parsed ? parsed : { faults: parsed.faults.map((each) => `${path}: ${each}`) };
  } finally {
    await handle.close();
  }
}

/** Writes the policy with its directory, which everyone may read; it stays with the owner that it has. */
export async function writePolicyFile(path: string, policy: Policy) {
  const owner = (await lstat(path).catch(absent)) ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  await mkdir(dirname(path), { recursive: true, mode: 0o755 }).catch(inWords(dirname(path), "made"));
  await writeAtomically(path, `${JSON.stringify(policy, null, 2)}\n`, { uid: owner.uid, gid: owner.gid, mode: MODE });
}
