import { isDeepStrictEqual } from "node:util";
import type { Logger } from "pino";
import type { Snapshot } from "../host/files";
import { sentenceOf } from "../host/foreign";
import type { Host } from "../host/host";
import { removeTempDir } from "../host/temp-dir";
import type { AwaitRebuild } from "./turns";
import { type UndoStep, undoStep } from "./undo-step";

/** The things that an assignment has put on the host, by name: a file with its former content, a directory, or an entry inside a store. */
type Ownership = { digest?: string; before?: Snapshot | null };
export type Journal = {
  ownership: Record<string, Ownership>;
  undo: UndoStep[];
  /** The ownership when the attempt began; none while there is no attempt. */
  ownershipBefore?: Journal["ownership"] | undefined;
};

/** An attempt to change the host for one assignment; `save` keeps its journal on disk. */
export type Attempt = {
  host: Host;
  log: Logger;
  journal: Journal;
  save: () => Promise<void>;
  /** Returns whether another assignment has put this there. */
  isOthers: (name: string) => boolean;
  /** The same, but for those that are to move elsewhere, or to go, in this pass. */
  isStayingOthers: (name: string) => boolean;
  /** Runs a program once for all assignments of the pass that wait for it; without this, each runs it for itself. */
  awaitRebuild?: AwaitRebuild | undefined;
};

const STEPS = { file: "changing a file", directory: "making a directory", scratch: "making a directory", vacated: "removing a directory" };
export type Steps = ReturnType<typeof beginSteps>;

/** Begins an attempt; `addStep` has a step in the journal on disk before it is made. */
export function beginSteps(attempt: Attempt) {
  const { journal, log, save } = attempt;
  journal.ownershipBefore ??= { ...journal.ownership };
  async function addStep(step: UndoStep) {
    journal.undo.push(step);
    if ("path" in step) log.info({ path: step.path }, STEPS[step.kind]);
    await save();
  }
  return { ...attempt, addStep };
}

type RollingBack = Pick<Attempt, "host" | "log" | "journal" | "save" | "awaitRebuild">;

/** Undoes an attempt; a step that fails does not stop the others. Returns the failures. */
export async function rollBack({ host, log, journal, save, awaitRebuild }: RollingBack): Promise<string[]> {
  const failures: string[] = [];
  log.warn({ steps: journal.undo.length }, "rolling back");
  const { again = [], directory = [], rest = [] } = Object.groupBy(journal.undo, ({ kind }) => (kind === "again" || kind === "directory" ? kind : "rest"));
  // A directory goes last: only then a program that was made to reread it has taken away what it made there itself.
  for (const step of [...rest.toReversed(), ...again.filter(isLastOfItsKind), ...directory.toReversed()])
    await undoStep(host, step, awaitRebuild).catch((error: Error) => failures.push(sentenceOf(error)));
  if (journal.ownershipBefore) journal.ownership = journal.ownershipBefore;
  await commit({ journal, save });
  return failures;
}

/** Of commands that are the same, one run is enough once everything is as it was. */
const isLastOfItsKind = (step: UndoStep, index: number, steps: UndoStep[]) => !steps.slice(index + 1).some((later) => isDeepStrictEqual(later, step));

/** Returns whether the attempt has changed things that other assignments share, so that none of them may run before it has ended. */
export const hasChangedShared = ({ undo, ownership, ownershipBefore }: Journal) =>
  undo.some((step) => step.kind === "run" || (step.kind === "file" && (ownership[step.path] ?? ownershipBefore?.[step.path])?.digest === undefined));

/** Ends an attempt: its changes stay. */
export async function commit({ journal, save }: Pick<Attempt, "journal" | "save">) {
  journal.undo = journal.undo.filter(({ kind }) => kind === "scratch");
  journal.ownershipBefore = undefined;
  await save();
  if (journal.undo.length === 0) return;
  for (const step of journal.undo) if (step.kind === "scratch") await removeTempDir(step.path);
  journal.undo = [];
  await save();
}

/** Returns whether an attempt was interrupted, or has left things to clear away. */
export const isUncommitted = ({ undo, ownershipBefore }: Journal) => undo.length > 0 || ownershipBefore !== undefined;
