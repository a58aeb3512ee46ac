import { chmodSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import type { Logger } from "pino";
import initdbPath from "../../node_modules/@electric-sql/pglite/dist/initdb.wasm" with { type: "file" };
// Its package exports hide these files, but the bundler must see them to put them into the executable.
import bundlePath from "../../node_modules/@electric-sql/pglite/dist/pglite.data" with { type: "file" };
import pglitePath from "../../node_modules/@electric-sql/pglite/dist/pglite.wasm" with { type: "file" };
import { connectDatabase } from "./connect";
import { lockDirectory } from "./lock";
import { closeDirectory } from "./private-directory";
import { sessionParameters } from "./session";
import { unpackTemplate } from "./template";

/** Milliseconds between the times that the tables are cleaned and measured again: it has no autovacuum of its own. */
const TIDY_EVERY = 600_000;

/**
 * As PGlite starts it, with a buffer cache of 32 MB: its own of 128 MB stays in this process's memory. The system caches the
 * files as well.
 */
const START_PARAMETERS = [...PGlite.defaultStartParams, "-c", "shared_buffers=32MB"];

type Options = {
  socketDir?: string;
  log?: Pick<Logger, "info">;
  /** True for a new database without tables, for a backup that brings its own. */
  isBare?: boolean;
};

/** Postgres inside this process, its files under `dataDir`, its socket in `socketDir`; one connection, because it is one session. */
export async function startEmbedded(dataDir: string, { socketDir = dataDir, log, isBare = false }: Options = {}) {
  const path = join(socketDir, ".s.PGSQL.5432");
  if (Buffer.byteLength(path) > 100) throw new Error(`DATA_DIR is too long for a Unix socket: "${path}" has over 100 bytes.`);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const release = lockDirectory(dataDir, "DATA_DIR");
  rmSync(path, { force: true }); // left behind by a killed process; the lock says that it is ours
  const files = join(dataDir, "postgres");
  if (!existsSync(files)) {
    log?.info({ path: resolve(files) }, "creating embedded database");
    await createFiles(files, isBare);
  }
  const engine = await startEngine(files);
  closeDirectory(dataDir); // it makes its files as open as they lie in its bundle
  // Its one session lasts as long as the engine, and nothing of a connection's start reaches it.
  for (const parameter of Object.entries(sessionParameters(0))) await engine.query("select set_config($1, $2, false)", parameter);
  const server = new PGLiteSocketServer({ db: engine, path });
  await server.start();
  chmodSync(path, 0o600);
  const db = connectDatabase(`postgres://postgres@localhost/postgres?host=${encodeURIComponent(socketDir)}`, { max: 1, silence: 0 });
  const tidying = setInterval(() => db.$client`vacuum (analyze)`.catch(() => {}), TIDY_EVERY); // one that ends early is made good by the next
  async function stop() {
    clearInterval(tidying);
    await db.$client.end({ timeout: 5 });
    await server.stop();
    await engine.close();
    release();
  }
  return { db, stop };
}

/** Creates the files in another directory, then renames it: an interrupted creation leaves nothing that looks like a database. */
async function createFiles(files: string, isBare: boolean) {
  const unfinished = `${files}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  const isUnpacked = !isBare && (await unpackTemplate(unfinished));
  if (!isUnpacked) await (await startEngine(unfinished)).close();
  renameSync(unfinished, files);
}

/** Starts Postgres on these files; where there are none it makes them, which takes seconds. */
async function startEngine(dataDir: string) {
  const [pgliteWasmModule, initdbWasmModule] = await Promise.all([compile(pglitePath), compile(initdbPath)]);
  return PGlite.create({ dataDir, pgliteWasmModule, initdbWasmModule, fsBundle: Bun.file(bundlePath), startParams: START_PARAMETERS });
}

const compile = async (path: string) => WebAssembly.compile(await Bun.file(path).arrayBuffer());
