import type { Host } from "./host";
import { ProgramFailure, runProgram, type User } from "./program";

/** An account of this host that a config names. */
export async function findUser(host: Host, name: string): Promise<User & { home: string }> {
  const { stdout } = await runProgram(host, ["getent", "passwd", "--", name]).catch((error: Error) => {
    throw error instanceof ProgramFailure ? new Error(`config.dbUser names the account ${name}, which this host does not have.`) : error;
  });
  const [, , uid, gid, , home = ""] = stdout.trimEnd().split(":");
  return { uid: Number(uid), gid: Number(gid), home };
}

/** The user to run a tool as for what belongs to that user, or none where it is the agent's own; only root can become another. */
export function actAs({ uid, gid }: User, belonging: string): User | undefined {
  const own = process.getuid?.();
  if (uid === own) return undefined;
  if (own !== 0) throw new Error(`${belonging} belongs to the user with the id ${uid}, for whom this agent cannot act. Run it as root, or as that user.`);
  return { uid, gid };
}
