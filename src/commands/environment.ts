import { type Config, ConfigError, readConfig } from "#config";
import { type Db, MAINTENANCE } from "#db/connect";
import { reachDatabase } from "#db/open";
import { createLog } from "#log";
import { terminalLog } from "#log-terminal";
import { CommandError } from "./command-error";

export function readConfigOrExit(): Config {
  process.umask(0o077);
  try {
    return readConfig(Bun.env);
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(error.message, 2);
    throw error;
  }
}

/**
 * Runs a command that needs the database, and closes it however the command ends. Standard output is for its result:
 * what happens to the database is told on standard error. A new embedded database that `isBare` has no tables yet.
 */
export async function withDatabase(work: (db: Db, config: Config) => Promise<void>, { isBare = false } = {}) {
  const config = readConfigOrExit();
  const { db, stop } = await reachDatabase({ ...config, isBare }, createLog("info", terminalLog(process.stderr)), MAINTENANCE);
  try {
    await work(db, config);
  } finally {
    await stop();
  }
}
