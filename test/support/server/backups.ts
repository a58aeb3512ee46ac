import { type Kind, readFrames } from "#backup/format";

/** Returns a backup's content: the records of each table in an order of their own, and the SHA-256 of each object. */
export async function readBackup(path: string) {
  const tables: Record<string, string[]> = {};
  const objects: Record<string, string> = {};
  let name = "";
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the file says
  let totals: any = {};
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the file says
  const on: Partial<Record<Kind, (value: any) => void>> = {
    T: (value) => {
      name = value.name;
      tables[name] = [];
    },
    R: (value) => tables[name]?.push(...value),
    O: ({ key }) => {
      name = key;
    },
    E: ({ sha256 }) => {
      objects[name] = sha256;
    },
    Z: (value) => {
      totals = value;
    },
  };
  for await (const { kind, payload } of readFrames(path)) if (kind !== "D") on[kind]?.(JSON.parse(payload.toString()));
  for (const rows of Object.values(tables)) rows.sort();
  return { tables, objects, totals };
}
