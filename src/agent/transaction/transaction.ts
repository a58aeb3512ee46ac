import { runProgram, type User } from "../host/program";
import { createDirectories } from "./directories";
import { createFiles } from "./files";
import { type Attempt, beginSteps } from "./journal";
import { createOwnership } from "./ownership";
import { type Command, execute, type Secret, type UndoCommand } from "./undo-step";

type Running = { undo?: UndoCommand; user?: User; directory?: string; environment?: Record<string, string>; input?: string };
type Reloading = { user?: User | undefined; directory?: string; secret?: Secret | undefined; rerun?: string[] };
export type Transaction = ReturnType<typeof beginTransaction>;

/**
 * An attempt to change the host for one assignment. Each step is in the journal, on disk, before it is made: an attempt that fails is
 * rolled back, and so is, by the next start, one whose agent was killed.
 */
export function beginTransaction(attempt: Attempt) {
  const { host, log } = attempt;
  const steps = beginSteps(attempt);
  const ownership = createOwnership(attempt);
  const directories = createDirectories(steps, ownership);

  /** Runs a program; `undo` is the command that reverts its effect. */
  async function run(argv: readonly string[], { undo, ...options }: Running = {}) {
    const { user, directory } = options;
    if (undo) await steps.addStep({ kind: "run", ...undo, ...(user && { user }), ...(directory && { directory }) });
    log.info({ argv }, "running a program");
    return runProgram(host, argv, options);
  }

  /** Runs a command that makes a program read the files; it, or `rerun`, runs once more after a rollback. */
  async function reload(argv: string[], { user, directory, secret, rerun = argv }: Reloading = {}) {
    const by = { ...(user && { user }), ...(directory && { directory }), ...(secret && { secret }) };
    await steps.addStep({ kind: "again", argv: rerun, ...by });
    log.info({ argv }, "running a reload command");
    await execute(host, { argv, ...by });
  }

  /** Has a command run where the attempt is rolled back, once the files are as they were. */
  const afterRollback = (command: Command) => steps.addStep({ kind: "again", ...command });

  return { host, ...ownership, ...directories, ...createFiles(steps, ownership, directories), run, reload, afterRollback };
}
