import { mkdir, open, opendir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Keyring } from "#crypto/keyring";
import { createLinks } from "./links";
import type { ObjectStore } from "./store";

/** One name in one directory, so that no key leads elsewhere. */
const KEY = /^[0-9a-z][0-9a-z.-]{0,99}$/;
const DRAFT = ".part";

/** Objects as files of one directory, which several servers may share. */
export function createFileStore(directory: string, keyring: Keyring): ObjectStore {
  const links = createLinks(keyring);
  const pathOf = (key: string) => {
    if (!KEY.test(key)) throw new Error(`"${key}" is not the key of an object.`);
    return join(directory, key);
  };

  async function put(key: string, bytes: Uint8Array) {
    const path = pathOf(key);
    const draft = pathOf(`${crypto.randomUUID()}${DRAFT}`);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    try {
      await writeDurably(draft, bytes);
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    await sync(directory);
  }

  async function get(key: string) {
    const file = KEY.test(key) ? Bun.file(pathOf(key)) : undefined;
    return (await file?.exists()) ? file : undefined;
  }

  async function* list() {
    const entries = await opendir(directory).catch(ignoreMissing);
    for await (const { name } of entries ?? []) {
      const found = KEY.test(name) && (await stat(join(directory, name)).catch(ignoreMissing));
      if (found) yield { key: name, modifiedAt: found.mtime, isDraft: name.endsWith(DRAFT) };
    }
  }

  return {
    put,
    get,
    list,
    remove: async (key) => rm(pathOf(key), { force: true }),
    signedUrl: (key, presentation, expiresAt, base) => `${base}/files/${key}?${links.sign({ key, ...presentation, expiresAt })}`,
  };
}

async function writeDurably(path: string, bytes: Uint8Array) {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The name, too, must outlive a power cut. */
async function sync(directory: string) {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException) {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}
