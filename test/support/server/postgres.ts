import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { connectDatabase, type Settings } from "#db/connect";
import { packedPath } from "#db/template";
import { devDependencies } from "../../../package.json";
import { createScratchDatabase } from "./world";

/** The files of an empty embedded database. Making them takes seconds, so they are kept for other processes. */
async function makeTemplate() {
  const kept = join(dirname(packedPath), `empty-postgres-${devDependencies["@electric-sql/pglite"]}.tar`);
  if (!existsSync(kept)) {
    const engine = await PGlite.create();
    await Bun.write(`${kept}.${process.pid}`, await engine.dumpDataDir("none"));
    await engine.close();
    renameSync(`${kept}.${process.pid}`, kept);
  }
  return new Blob([await Bun.file(kept).bytes()], { type: "application/x-tar" });
}
let template: ReturnType<typeof makeTemplate> | undefined;

/** An empty database of a test's own, to be renamed, frozen or cut off: on the server of TEST_DATABASE_URL, or embedded. */
export async function startPostgres() {
  if (Bun.env.TEST_DATABASE_URL) {
    const { url, drop } = await createScratchDatabase(Bun.env.TEST_DATABASE_URL);
    return { url, stop: drop };
  }
  const directory = mkdtempSync(join(tmpdir(), "certitude-postgres-"));
  template ??= makeTemplate();
  const engine = await PGlite.create({ loadDataDir: await template });
  const server = new PGLiteSocketServer({ db: engine, path: join(directory, ".s.PGSQL.5432"), maxConnections: 50 });
  await server.start();
  async function stop() {
    await server.stop();
    await engine.close();
    rmSync(directory, { recursive: true });
  }
  return { url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(directory)}`, stop };
}

/** A pool as the server has it: one connection on the embedded engine, which is one session. */
export const connectTo = (url: string, settings: Settings = {}) => connectDatabase(url, { max: Bun.env.TEST_DATABASE_URL ? 4 : 1, ...settings });
