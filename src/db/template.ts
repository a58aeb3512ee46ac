import { join } from "node:path";
import { sha256 } from "#crypto/sha256";
import { devDependencies } from "../../package.json";
import { migrations } from "./migrate";

/** The name in the executable of what pack-template.ts writes; the bundler adds a hash to it. */
const TEMPLATE = /^postgres\b.*\.zst$/;

const ORIGIN = sha256([devDependencies["@electric-sql/pglite"], ...migrations.map(({ hash }) => hash)].join()).slice(0, 16);
/** The path at which pack-template.ts keeps the database of these migrations; programs that run from source copy it too. */
export const packedPath = join(import.meta.dir, "../../dist", `postgres-${ORIGIN}.zst`);

/** Fills `directory` with an initialized database, every migration applied, no rows. Returns false where there is none to copy. */
export async function unpackTemplate(directory: string) {
  const template = Bun.embeddedFiles.find((each) => TEMPLATE.test((each as File).name)) ?? Bun.file(packedPath);
  if (template.size === 0) return false;
  await unpack(await template.bytes(), directory);
  return true;
}

export const unpack = async (template: Uint8Array, directory: string) => new Bun.Archive(await Bun.zstdDecompress(template)).extract(directory);
