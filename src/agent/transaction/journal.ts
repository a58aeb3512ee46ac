import type { Logger } from "pino";
import type { Snapshot } from "../host/files";
import type { Host } from "../host/host";
import { removeTempDir } from "../host/temp-dir";
import { type UndoStep, undoStep } from "./undo-step";

/** What an assignment has put on the host, by name: a file, with what was there before, a directory, or an entry inside a store. */
type Ownership = { digest?: string; before?: Snapshot | null };
export type Journal = {
  claims: Record<string, Ownership>;
  undo: UndoStep[];
  /** The claims when the attempt began; none while there is no attempt. */
  claimsBefore?: Journal["claims"] | undefined;
};

/** What is known of an attempt to change the host for one assignment; `save` keeps its ledger on disk. */
export type Attempt = {
  host: Host;
  log: Logger;
  ledger: Journal;
  save: () => Promise<void>;
  /** Whether another assignment has put this there. */
  isOthers: (name: string) => boolean;
};

/** Puts the host back as it was when the attempt began. It goes on after a failure, and answers what failed. */
export async function rollBack({ host, log, ledger, save }: Omit<Attempt, "isOthers">): Promise<string[]> {
  const failures: string[] = [];
  log.warn({ steps: ledger.undo.length }, "rolls back");
  const { again = [], directory = [], rest = [] } = Object.groupBy(ledger.undo, ({ kind }) => (kind === "again" || kind === "directory" ? kind : "rest"));
  // A directory goes last: only then a program that was made to reread it has taken away what it made there itself.
  for (const step of [...rest.toReversed(), ...again, ...directory.toReversed()])
    await undoStep(host, step).catch((error: Error) => failures.push(error.message));
  if (ledger.claimsBefore) ledger.claims = ledger.claimsBefore;
  await commit({ ledger, save });
  return failures;
}

/** Ends an attempt: what it did stands. */
export async function commit({ ledger, save }: Pick<Attempt, "ledger" | "save">) {
  ledger.undo = ledger.undo.filter(({ kind }) => kind === "scratch");
  ledger.claimsBefore = undefined;
  await save();
  if (ledger.undo.length === 0) return;
  for (const step of ledger.undo) if (step.kind === "scratch") await removeTempDir(step.path);
  ledger.undo = [];
  await save();
}

/** Whether an attempt was cut short, or what it needed was not yet cleared away. */
export const isUncommitted = ({ undo, claimsBefore }: Journal) => undo.length > 0 || claimsBefore !== undefined;
