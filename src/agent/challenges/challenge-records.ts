import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Attributes, absent, writeAtomically } from "../host/files";

/** The agent's record of a challenge that it was asked to answer. */
export type ChallengeRecord = {
  id: string;
  /** When it was first answered, in milliseconds; none while it could not be. */
  since?: number | undefined;
  /** The file of the answer, named here before it is written. */
  path?: string | undefined;
  /** The reason why it is not answered, as it was last reported; the file of an older release has it by this name. */
  told?: string | undefined;
};

type Kept = { answers: ChallengeRecord[]; directories: string[] };

/** One file of the agent's own directory says what is answered, and which directories were made for that. */
export async function openChallengeRecords(stateDirectory: string, own: Attributes) {
  const file = join(stateDirectory, "challenges.json");
  const { answers, directories } = parse((await readFile(file, "utf8").catch(absent)) ?? "");
  const records = new Map(answers.map((record) => [record.id, record]));
  const made = new Set(directories);
  let isChanged = false;

  return {
    records,
    /** Directories that the agent made for answers. */
    directories: made,
    /** Takes note of a record, and of directories that are about to be made: on disk with the next `flush`. */
    note(record: ChallengeRecord, missing: string[] = []) {
      if (missing.length === 0 && Bun.deepEquals(records.get(record.id), record)) return;
      records.set(record.id, { ...record });
      for (const each of missing) made.add(each);
      isChanged = true;
    },
    forget(id: string) {
      if (records.delete(id)) isChanged = true;
    },
    forgetDirectory(path: string) {
      if (made.delete(path)) isChanged = true;
    },
    /** Writes what has changed, once for all challenges of a pass: a server may send ten thousand. */
    async flush() {
      if (isChanged) await writeAtomically(file, JSON.stringify({ answers: [...records.values()], directories: [...made] } satisfies Kept), own);
      isChanged = false;
    },
  };
}

/** A damaged file is like none: what was answered is asked for again, or is the host's administrator's to remove. */
function parse(text: string): Kept {
  try {
    const value: Partial<Kept> = JSON.parse(text);
    if (Array.isArray(value.answers) && Array.isArray(value.directories)) return value as Kept;
  } catch {} // as above
  return { answers: [], directories: [] };
}
