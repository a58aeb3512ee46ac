import { type Config, ConfigError, readConfig } from "#config";
import type { Stamps } from "#crypto/stamps";
import { type Db, MAINTENANCE, type Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { reachDatabase } from "#db/open";
import { checkKeys } from "#db/secret-keys";
import { createLog, type Log } from "#log/log";
import { terminalLog } from "#log/terminal";
import { ADMINISTRATION } from "#maintenance/administration";
import { askServer } from "#maintenance/socket";
import { stampsOfCommand } from "#maintenance/stamping";
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
 * Runs a command that needs the database, and closes it at the end; its log is on standard error, results on standard output. A
 * new embedded database that `isBare` has no tables.
 */
export async function withDatabase(work: (db: Db, config: Config, log: Log) => Promise<void>, { isBare = false } = {}) {
  const config = readConfigOrExit();
  const log = createLog("info", terminalLog(process.stderr));
  const { db, stop } = await reachDatabase({ ...config, isBare }, log, MAINTENANCE);
  try {
    await work(db, config, log);
  } finally {
    await stop();
  }
}

/** As `withDatabase`, in the tables of this release, for a command that makes admins: it stamps them with the database's own key. */
const withStamps = (work: (sql: Pool, stamps: Stamps) => Promise<void>) =>
  withDatabase(async ({ $client: sql }, { keyring }, log) => {
    await migrate(sql);
    const wrongKeys = await checkKeys(sql, keyring);
    if (wrongKeys) throw new CommandError(wrongKeys, 2);
    await work(sql, await stampsOfCommand({ sql, keyring, log }));
  });

type Administration = typeof ADMINISTRATION;

/** Makes a change, and prints its report. A server that has the embedded database is asked to make it. */
export async function administer<Name extends keyof Administration>(name: Name, input: Parameters<Administration[Name]>[1]) {
  const { databaseUrl, dataDir } = readConfigOrExit();
  if (!databaseUrl && (await askServer(dataDir, name, console.info, input))) return;
  await withStamps((sql, stamps) => ADMINISTRATION[name]({ sql, stamps }, input as never, console.info));
}
