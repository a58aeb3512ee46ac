/** The name in the executable of what pack-template.ts writes; the bundler adds a hash to it. */
const TEMPLATE = /^postgres\b.*\.zst$/;

/**
 * Fills `directory` with the database that the executable carries: initialized, every migration applied, no rows.
 * Returns false where there is none, as under `bun src/main.ts`.
 */
export async function unpackTemplate(directory: string) {
  const template = Bun.embeddedFiles.find((each) => TEMPLATE.test((each as File).name));
  if (!template) return false;
  await unpack(await template.bytes(), directory);
  return true;
}

export const unpack = async (template: Uint8Array, directory: string) => new Bun.Archive(await Bun.zstdDecompress(template)).extract(directory);
