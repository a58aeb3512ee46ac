import { constants } from "node:fs";
import { copyFile, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Pool } from "#db/connect";

/** A file system may keep times this coarsely, milliseconds: what changed so shortly before a copy may have changed after it. */
const TIME_GRAIN = 2_000;

/**
 * Copies the files of the embedded database as they are at one moment. What has not changed since a first copy is not copied
 * again, so that requests wait for the rest alone.
 */
export async function takeSnapshot(sql: Pool, from: string, to: string) {
  const copied = new Map<string, string>();
  await sql`checkpoint`;
  await copyChanged(from, to, copied);
  const session = await sql.reserve(); // the embedded database has one session: no statement runs until it is released
  try {
    await session`checkpoint`;
    await copyChanged(from, to, copied);
  } finally {
    session.release();
  }
}

/** Copies the files that are not in `copied` as they are now, and removes those that are gone. */
async function copyChanged(from: string, to: string, copied: Map<string, string>) {
  const settledBefore = Date.now() - TIME_GRAIN;
  const seen = new Set<string>();
  for await (const name of walk(from, to)) {
    const found = await stat(join(from, name), { bigint: true }).catch(ignoreMissing);
    if (!found) continue;
    seen.add(name);
    const state = `${found.size} ${found.mtimeNs}`;
    if (copied.get(name) === state) continue;
    await copyFile(join(from, name), join(to, name), constants.COPYFILE_FICLONE).catch(ignoreMissing);
    copied.set(name, Number(found.mtimeMs) < settledBefore ? state : "recent");
  }
  for (const name of copied.keys()) if (!seen.has(name)) await rm(join(to, name), { force: true });
}

/** Makes the directories of `from` below `to`, and returns the files to copy. */
async function* walk(from: string, to: string, parent = ""): AsyncGenerator<string> {
  await mkdir(join(to, parent), { recursive: true, mode: 0o700 });
  for (const entry of await readdir(join(from, parent), { withFileTypes: true })) {
    const name = join(parent, entry.name);
    if (entry.isDirectory()) yield* walk(from, to, name);
    else if (entry.isFile()) yield name;
  }
}

function ignoreMissing(error: NodeJS.ErrnoException) {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}
