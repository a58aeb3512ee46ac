import type { Argv } from "../host/arguments";
import { runProgram, type User } from "../host/program";
import { createDirectories } from "./directories";
import { createFiles } from "./files";
import { type Attempt, beginSteps, hasChangedShared } from "./journal";
import { createOwnership } from "./ownership";
import type { Rebuild } from "./turns";
import { type Command, execute, type Secret, type UndoCommand } from "./undo-step";

type Running = { undo?: UndoCommand; user?: User; directory?: string; environment?: Record<string, string>; input?: string };
type Reloading = { user?: User | undefined; directory?: string; secret?: Secret | undefined; rerun?: Argv };
export type Transaction = ReturnType<typeof beginTransaction>;

/**
 * Begins an attempt to change the host for one assignment. Each step is journaled on disk first, so that a failed attempt, or
 * one whose agent was killed, can be rolled back.
 */
export function beginTransaction(attempt: Attempt) {
  const { host, log } = attempt;
  const steps = beginSteps(attempt);
  const ownership = createOwnership(attempt);
  const directories = createDirectories(steps, ownership);

  /** Runs a program; `undo` is the command that reverts its effect. */
  async function run(argv: Argv, { undo, ...options }: Running = {}) {
    const { user, directory } = options;
    if (undo) await steps.addStep({ kind: "run", ...undo, ...(user && { user }), ...(directory && { directory }) });
    log.info({ argv }, "running a program");
    return runProgram(host, argv, options);
  }

  /** Runs a command that makes a program read the files; it, or `rerun`, runs once more after a rollback. */
  async function reload(argv: Argv, { user, directory, secret, rerun = argv }: Reloading = {}) {
    const by = { ...(user && { user }), ...(directory && { directory }), ...(secret && { secret }) };
    await steps.addStep({ kind: "again", argv: rerun, ...by });
    log.info({ argv }, "running a reload command");
    await execute(host, { argv, ...by });
  }

  /** Runs a program once for all assignments that wait for it, and goes on then; at once where this one would hold up others. */
  async function runTogether(rebuild: Rebuild) {
    if (attempt.awaitRebuild && !hasChangedShared(attempt.journal)) return attempt.awaitRebuild(rebuild);
    log.info({ argv: rebuild.argv }, "running a program");
    return execute(host, rebuild);
  }

  /** The same for what makes a store of the files; it makes everything afresh after a rollback. */
  async function rebuild(argv: Argv, rerun = argv) {
    await afterRollback({ argv: rerun });
    await runTogether({ argv, rerun });
  }

  /** Has a command run where attempts are rolled back, once for all of them, when the files are as they were. */
  const afterRollback = (command: Command) => steps.addStep({ kind: "again", isShared: true, ...command });

  return { host, ...ownership, ...directories, ...createFiles(steps, ownership, directories), run, runTogether, reload, rebuild, afterRollback };
}
