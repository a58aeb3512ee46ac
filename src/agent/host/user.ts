import { readFile } from "node:fs/promises";
import { argvOf, serverWord } from "./arguments";
import { foreign } from "./foreign";
import type { Host } from "./host";
import { ProgramFailure, runProgram, type User } from "./program";

/** An account of this host that a config names in the field. */
export async function findUser(host: Host, name: string, field = "dbUser"): Promise<User & { home: string }> {
  const [, , uid, gid, , home = ""] = await entryOf(host, "passwd", name, `config.${field} names the account ${name}, which this host does not have.`);
  return { uid: Number(uid), gid: Number(gid), home };
}

/** The id of a group of this host that a config names in the field. */
export async function findGroup(host: Host, name: string, field: string): Promise<number> {
  const [, , gid] = await entryOf(host, "group", name, `config.${field} names the group ${name}, which this host does not have.`);
  return Number(gid);
}

/** From the machine's own file, or from wherever else the host knows its accounts. */
async function entryOf(host: Host, database: "passwd" | "group", name: string, missing: string) {
  const lines = (await readFile(`/etc/${database}`, "utf8")).split("\n");
  const own = lines.find((line) => line.startsWith(`${name}:`));
  if (own !== undefined) return own.split(":");
  const { stdout } = await runProgram(host, argvOf("getent", database, "--", serverWord(name))).catch((error: Error) => {
    throw error instanceof ProgramFailure ? new Error(missing) : error;
  });
  return stdout.trimEnd().split(":");
}

/** The user to run a tool as for what belongs to that user, or none where it is the agent's own; only root can become another. */
export function actAs({ uid, gid }: User, belonging: string): User | undefined {
  const own = process.getuid?.();
  if (uid === own) return undefined;
  if (own !== 0)
    throw new Error(`${belonging} belongs to the user with the id ${foreign(`${uid}`)}, for whom this agent cannot act. Run it as root, or as that user.`);
  return { uid, gid };
}
