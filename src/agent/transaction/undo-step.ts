import { lstat, rmdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { sha256 } from "#crypto/sha256";
import type { Argv } from "../host/arguments";
import { restoreDirectory } from "../host/directories";
import { type Attributes, absent, bytesOf, inWords, type Snapshot, withPlace } from "../host/files";
import { withDirectory } from "../host/held-directory";
import type { Host } from "../host/host";
import { resolvePassword } from "../host/password";
import { runProgram, type User } from "../host/program";
import { removeTempDir } from "../host/temp-dir";
import type { AwaitRebuild } from "./turns";

/** The command that reverts a program's effect; a failure that contains `ignoredError` means that there was nothing to revert. */
export type UndoCommand = { argv: Argv; input?: string; ignoredError?: string; secret?: Secret };
/** A password that a command takes from its environment: the variable's name, and where on this host the password is found. */
export type Secret = { variable: string; reference: string };
export type Command = { argv: Argv; input?: string; user?: User; directory?: string; secret?: Secret };

/**
 * How one step of an attempt is undone: `after` is the digest of what the step left, null where it removed the file; a command that
 * `isShared` runs once for all attempts that are rolled back together.
 */
export type UndoStep =
  | { kind: "file"; path: string; before: Snapshot | null; after: string | null }
  | { kind: "directory"; path: string }
  | { kind: "scratch"; path: string }
  | ({ kind: "vacated"; path: string } & Attributes)
  | ({ kind: "again"; isShared?: boolean } & Command)
  | ({ kind: "run"; user?: User; directory?: string } & UndoCommand);

export async function undoStep(host: Host, step: UndoStep, awaitRebuild?: AwaitRebuild): Promise<unknown> {
  if (step.kind === "file") return restoreFile(step);
  if (step.kind === "directory") return removeDirectory(step.path);
  if (step.kind === "vacated") return restoreDirectory(host, step.path, step);
  if (step.kind === "scratch") return removeTempDir(step.path);
  if (step.kind === "again" && step.isShared && awaitRebuild) return awaitRebuild({ ...step, rerun: step.argv });
  if (step.kind === "again") return execute(host, step);
  return execute(host, step).catch((error: Error) => {
    if (!step.ignoredError || !error.message.includes(step.ignoredError)) throw error;
  });
}

export async function execute(host: Host, { argv, input, user, directory, secret }: Command) {
  const environment = secret && { [secret.variable]: await resolvePassword(host, secret.reference) };
  const given = { ...(input !== undefined && { input }), ...(user && { user }), ...(directory && { directory }) };
  return runProgram(host, argv, { ...given, ...(environment && { environment }) });
}

/** A file that is gone together with its directory has nothing left to undo. */
const restoreFile = ({ path, before, after }: Extract<UndoStep, { kind: "file" }>) =>
  withPlace(path, async (place) => {
    await place.removeTemporary();
    const now = await place.read();
    const digest = now ? sha256(bytesOf(now)) : null;
    const isAsBefore = digest === (before && sha256(bytesOf(before)));
    if (isAsBefore && now?.mode === before?.mode && now?.uid === before?.uid && now?.gid === before?.gid) return;
    if (!isAsBefore && digest !== after) throw new Error(`${path} was changed by another program meanwhile and was left as it is.`);
    await (before ? place.write(bytesOf(before), before) : place.remove());
  }).catch((error: NodeJS.ErrnoException) => (before ? inWords(path, "written")(error) : absent(error)));

/** Removes a directory if it is empty, and returns whether it is gone. A read-only disk complains even where there is nothing to remove. */
export async function removeDirectory(path: string) {
  try {
    await withDirectory(dirname(path), async (held) => {
      const directory = held.at(basename(path));
      if (await lstat(directory).catch(absent)) await rmdir(directory);
    }).catch(absent);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTEMPTY") return false;
    throw error;
  }
}
