// bun src/db/pack-template.ts [FILE]: makes the database that every embedded one is a copy of; `bun run build` puts the copy
// FILE into the executable.
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "./embedded";
import { migrate } from "./migrate";
import { packedPath } from "./template";

const BEST_LEVEL = 19;

/** Returns the files of a new database with every migration applied, stopped in order, as a compressed tar archive. */
export async function packTemplate() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-template-"));
  try {
    const { db, stop } = await startEmbedded(directory, { isBare: true });
    await migrate(db.$client);
    await db.$client`vacuum (analyze)`;
    await stop();
    const tar = await new Bun.Archive(await readTree(join(directory, "postgres"))).bytes();
    return await Bun.zstdCompress(tar, { level: BEST_LEVEL });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** The archive's entries by path. A directory ends with a slash: Postgres needs the empty ones too. */
async function readTree(root: string) {
  const entries: Record<string, Uint8Array | string> = {};
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(root.length + 1);
    if (entry.isDirectory()) entries[`${name}/`] = "";
    else entries[name] = await Bun.file(path).bytes();
  }
  return entries;
}

/** Packs the database of these migrations, unless that was done before: making one takes many seconds of work. Returns the file. */
export async function packOnce() {
  if (!existsSync(packedPath)) {
    const unfinished = `${packedPath}.${process.pid}`;
    await Bun.write(unfinished, await packTemplate());
    renameSync(unfinished, packedPath);
  }
  return Bun.file(packedPath);
}

if (import.meta.main) {
  const packed = await packOnce();
  const copy = process.argv[2];
  if (copy !== undefined) await Bun.write(copy, packed);
}
