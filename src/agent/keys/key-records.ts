import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isUuid } from "#text/uuid";
import { type Attributes, absent, removeFile, writeAtomically } from "../host/files";

/** The agent's record of the key that it makes for one request, until the key is in its place. */
export type KeyRecord = {
  requestId: string;
  assignmentId: string;
  /** The file of the key, named here before it is written; none where there is no such file, or not yet. */
  path?: string | undefined;
  /** The last message to the server. */
  told?: string | undefined;
  /** A failure waits longer each time. */
  retry?: { failures: number; at: number } | undefined;
};

const RECORD = /^([0-9a-f-]{36})\.json$/;

export const keysIn = (stateDirectory: string) => join(stateDirectory, "keys");

/** The records of keys in the agent's own directory, and where keys lie that have no other place yet; files there are `own`. */
export async function openKeyRecords(stateDirectory: string, own: Attributes) {
  const directory = keysIn(stateDirectory);
  const pathOf = (requestId: string) => join(directory, `${requestId}.json`);
  const records = new Map<string, KeyRecord>();
  for (const name of (await readdir(directory).catch(absent)) ?? []) {
    const id = RECORD.exec(name)?.[1];
    const record = isUuid(id) ? parse(await readFile(join(directory, name), "utf8")) : undefined;
    if (record?.requestId === id && record !== undefined) records.set(record.requestId, record);
  }

  return {
    records,
    /** The place of a key that its store's own tool puts in later. */
    ownPlace: (requestId: string) => ({ path: join(directory, `${requestId}.pem`), attributes: own }),
    async save(record: KeyRecord) {
      records.set(record.requestId, record);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeAtomically(pathOf(record.requestId), JSON.stringify(record), own);
    },
    async forget({ requestId }: KeyRecord) {
      records.delete(requestId);
      await removeFile(pathOf(requestId));
    },
  };
}

/** A damaged record is like none: the request's key is found by its name, where the request still stands. */
function parse(text: string): KeyRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value instanceof Object && "requestId" in value && "assignmentId" in value ? (value as KeyRecord) : undefined;
  } catch {
    return undefined;
  }
}
