import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Objects } from "#backup/write";
import type { Config } from "#config";
import { MAINTENANCE, type Pool } from "#db/connect";
import { startEmbedded } from "#db/embedded";
import { lockDirectory } from "#db/lock";
import { reachDatabase } from "#db/open";
import { createLog } from "#log/log";
import { createFileStore } from "#storage/files";
import { askServer } from "./socket";

const PREFIX = "backup-";

/** The source of a backup, with a function to close it. */
type Source = { sql: Pool; objects: Objects; stop: () => Promise<void> };

/**
 * Returns the source of a backup: DATABASE_URL's database, the embedded one, or a copy that its server makes. Objects are
 * linked first, so that deleted ones stay readable.
 */
export async function openSource(config: Config): Promise<Source> {
  const work = makeWorkDirectory(config.dataDir);
  try {
    const pinned = pinObjects(join(config.dataDir, "objects"), join(work.path, "objects"), config);
    const { db, stop } = await openRows(config, work.path);
    const end = async () => {
      await stop();
      work.remove();
    };
    return { sql: db.$client, objects: pinned, stop: end };
  } catch (error) {
    work.remove();
    throw error;
  }
}

async function openRows(config: Config, path: string) {
  const log = createLog("silent");
  const isCopied = !config.databaseUrl && (await askServer(config.dataDir, "snapshot", () => {}, { name: basename(path) }));
  if (!isCopied) return reachDatabase(config, log, MAINTENANCE);
  const sockets = mkdtempSync(join(tmpdir(), "certitude-")); // a path in DATA_DIR might be too long for a socket
  const { db, stop } = await startEmbedded(join(path, "database"), { socketDir: sockets });
  const end = async () => {
    await stop();
    rmSync(sockets, { recursive: true, force: true });
  };
  return { db, stop: end };
}

/** A directory of this backup's own in DATA_DIR. Those of killed ones are removed. */
function makeWorkDirectory(dataDir: string) {
  const path = join(dataDir, `${PREFIX}${crypto.randomUUID().slice(0, 8)}`);
  for (const name of existsSync(dataDir) ? readdirSync(dataDir) : []) if (name.startsWith(PREFIX)) removeAbandoned(join(dataDir, name));
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const release = lockDirectory(path, "DATA_DIR");
  const remove = () => {
    release();
    rmSync(path, { recursive: true, force: true });
  };
  return { path, remove };
}

function removeAbandoned(path: string) {
  try {
    lockDirectory(path, "DATA_DIR")();
  } catch {
    return; // another backup is at work there
  }
  rmSync(path, { recursive: true, force: true });
}

/** Returns the objects as they are now, whatever is deleted later, and also those that are added. */
function pinObjects(from: string, to: string, { keyring }: Pick<Config, "keyring">): Objects {
  mkdirSync(to, { mode: 0o700 });
  for (const name of existsSync(from) ? readdirSync(from) : []) {
    try {
      linkSync(join(from, name), join(to, name));
    } catch {} // deleted meanwhile, or a file system without links: it is then read from its own directory
  }
  const [pinned, current] = [createFileStore(to, keyring), createFileStore(from, keyring)];
  return async (key) => (await current.get(key)) ?? (await pinned.get(key));
}
