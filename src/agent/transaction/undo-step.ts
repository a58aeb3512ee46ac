import { chmod, chown, mkdir, rmdir } from "node:fs/promises";
import { sha256 } from "#crypto/sha256";
import { type Attributes, absent, bytesOf, missingDirectories, readSnapshot, removeFile, removeTemporary, type Snapshot, writeAtomically } from "../host/files";
import type { Host } from "../host/host";
import { resolvePassword } from "../host/password";
import { runProgram, type User } from "../host/program";
import { removeTempDir } from "../host/temp-dir";

/** The command that reverts a program's effect; a failure that contains `ignoredError` means that there was nothing to revert. */
export type UndoCommand = { argv: string[]; input?: string; ignoredError?: string };
/** A password that a command takes from its environment: the variable's name, and where on this host the password is found. */
export type Secret = { variable: string; reference: string };
export type Command = { argv: string[]; input?: string; user?: User; secret?: Secret };

/** How one step of an attempt is undone: `after` is the digest of what the step left, null where it removed the file. */
export type UndoStep =
  | { kind: "file"; path: string; before: Snapshot | null; after: string | null }
  | { kind: "directory"; path: string }
  | { kind: "scratch"; path: string }
  | ({ kind: "vacated"; path: string } & Attributes)
  | ({ kind: "again" } & Command)
  | ({ kind: "run"; user?: User } & UndoCommand);

export async function undoStep(host: Host, step: UndoStep): Promise<unknown> {
  if (step.kind === "file") return restoreFile(step);
  if (step.kind === "directory") return removeDirectory(step.path);
  if (step.kind === "vacated") return restoreDirectory(step);
  if (step.kind === "scratch") return removeTempDir(step.path);
  if (step.kind === "again") return execute(host, step);
  const { kind: _, argv, ignoredError, ...options } = step;
  return runProgram(host, argv, options).catch((error: Error) => {
    if (!ignoredError || !error.message.includes(ignoredError)) throw error;
  });
}

export async function execute(host: Host, { argv, input, user, secret }: Command) {
  const environment = secret && { [secret.variable]: await resolvePassword(host, secret.reference) };
  return runProgram(host, argv, { ...(input !== undefined && { input }), ...(user && { user }), ...(environment && { environment }) });
}

async function restoreFile({ path, before, after }: Extract<UndoStep, { kind: "file" }>) {
  await removeTemporary(path);
  const now = await readSnapshot(path);
  const digest = now ? sha256(bytesOf(now)) : null;
  const isAsBefore = digest === (before && sha256(bytesOf(before)));
  if (isAsBefore && now?.mode === before?.mode && now?.uid === before?.uid && now?.gid === before?.gid) return;
  if (!isAsBefore && digest !== after) throw new Error(`${path} was changed by another program meanwhile and was left as it is.`);
  if (before) await writeAtomically(path, bytesOf(before), before);
  else await removeFile(path);
}

/** Removes a directory if it is empty. Returns whether it is gone. */
export async function removeDirectory(path: string) {
  try {
    await rmdir(path).catch(absent);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTEMPTY") return false;
    throw error;
  }
}

async function restoreDirectory({ path, mode, uid, gid }: Attributes & { path: string }) {
  if ((await missingDirectories(path)).length > 0) await mkdir(path);
  if (process.getuid?.() === 0) await chown(path, uid, gid);
  await chmod(path, mode);
}
