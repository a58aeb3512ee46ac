import { basename, dirname, join } from "node:path";
import { argvOf, serverWord } from "../host/arguments";
import { makeDirectory as makeDirectoryAt } from "../host/directories";
import { findEntry, inWords, missingDirectories } from "../host/files";
import { runProgram, type User } from "../host/program";
import { makeTempDir } from "../host/temp-dir";
import type { Steps } from "./journal";
import type { OwnershipOf } from "./ownership";
import { removeDirectory } from "./undo-step";

/** Changes of directories, each with its undo step. */
export function createDirectories({ host, journal, isOthers, addStep }: Steps, { disclaim }: OwnershipOf) {
  /** Makes what is missing of a directory; as `user`, where that user's own directories lead there. */
  async function makeDirectory(path: string, user?: User) {
    // One that was made for another assignment is this one's too: the last of them removes it.
    for (let each = path; each !== dirname(each); each = dirname(each)) if (isOthers(each)) journal.ownership[each] = {};
    for (const each of await missingDirectories(path)) {
      journal.ownership[each] = {};
      await addStep({ kind: "directory", path: each });
      const making = user
        ? runProgram(host, argvOf("mkdir", "-m", "700", "--", serverWord(basename(each))), { user, directory: dirname(each) })
        : makeDirectoryAt(each, 0o755);
      await making.catch(inWords(each, "made"));
    }
  }

  /** Removes a directory, and those above it, as far as they were made for this assignment and are empty now. */
  async function removeEmptyDirectories(path: string) {
    for (let each = path; each in journal.ownership; each = dirname(each)) {
      const found = await findEntry(each);
      if (found) await addStep({ kind: "vacated", path: each, mode: found.mode & 0o7777, uid: found.uid, gid: found.gid });
      if (found && !(await removeDirectory(each))) return;
      await disclaim(each);
    }
  }

  /**
   * Returns a directory, closed to others, for what a program must read from a file or write to one. It is removed when the
   * attempt ends.
   */
  async function tempDirectory() {
    const known = journal.undo.find(({ kind }) => kind === "scratch");
    if (known && "path" in known) return known.path;
    const path = join(host.environment.TMPDIR ?? "/tmp", `certitude-agent-${crypto.randomUUID()}`);
    await addStep({ kind: "scratch", path });
    await makeTempDir(path);
    return path;
  }

  return { makeDirectory, removeEmptyDirectories, tempDirectory };
}

export type Directories = ReturnType<typeof createDirectories>;
