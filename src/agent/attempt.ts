import type { Logger } from "pino";
import { isWithinBackoff, retryDelay } from "./backoff";
import type { Named } from "./disclosure";
import { permittedCall } from "./host/arguments";
import { sentenceOf } from "./host/foreign";
import type { Host } from "./host/host";
import { lifetimeOf } from "./host/pem";
import type { HostPolicy } from "./policy/host-policy";
import { failed } from "./report";
import type { AssignmentRecord, State } from "./state";
import type { Target } from "./store";
import { storeOf } from "./stores/stores";
import { isUncommitted, rollBack } from "./transaction/journal";
import type { Transaction } from "./transaction/transaction";
import { type AwaitRebuild, type Rebuild, takeTurns } from "./transaction/turns";
import { execute } from "./transaction/undo-step";

/** The parts that a pass works with. */
export type Work = {
  host: Host;
  /** The operations and places that this host permits. */
  policy: HostPolicy;
  state: State;
  log: Logger;
  clock: () => Date;
  isDryRun: boolean;
  /** True when what failed before is tried at once. */
  ignoreBackoff: boolean;
  /** Assignments that are to move elsewhere, or to go, in this pass. */
  leaving?: Set<string>;
  /** The texts that the server has named, by assignment. */
  named?: ReadonlyMap<string, Named>;
  /** As in an Attempt. */
  awaitRebuild?: AwaitRebuild;
};

/** Does tasks of a pass one after the other; a program that many of them wait for runs once. */
export const inTurns = <Outcome>(work: Work, tasksOf: (work: Work) => (() => Promise<Outcome>)[]) =>
  takeTurns(
    (awaitRebuild) => tasksOf({ ...work, awaitRebuild }),
    (rebuild: Rebuild) => {
      work.log.info({ argv: rebuild.argv }, "running a program for all that wait for it");
      return execute(work.host, rebuild);
    },
  );

/** Returns what a transaction needs to change the host for the record's assignment. */
export const attemptOf = (record: AssignmentRecord, { host, log, state, leaving, awaitRebuild }: Work) => ({
  host,
  log,
  journal: record,
  save: () => state.save(record),
  isOthers: state.isOthers(record.assignmentId),
  isStayingOthers: state.isOthers(record.assignmentId, leaving),
  awaitRebuild,
});

/** Returns true while the last attempt at `revision` failed too recently to try it again. */
export const mustWait = (record: AssignmentRecord | undefined, revision: string, now: Date) =>
  record?.retry?.revision === revision && isWithinBackoff(record.retry.at - now.getTime());

/** Rolls back what an agent that was killed had begun. */
export async function recoverInterrupted(record: AssignmentRecord, work: Work) {
  if (!isUncommitted(record)) return;
  const failures = await rollBack(attemptOf(record, work));
  work.log.warn({ failures }, "rolled back an interrupted attempt");
}

/**
 * Rolls back a failed attempt at `revision`, and sets the time of the next one. Returns the report, which names what could not
 * be rolled back.
 */
export async function rollBackFailed(record: AssignmentRecord, revision: string, error: Error, work: Work) {
  const message = sentenceOf(error);
  const hasChanged = record.undo.length > 0;
  const left = (await rollBack(attemptOf(record, work))).filter((each) => !isRepetition(each, message));
  const consequence = left.length > 0 ? ` Rolling back failed too: ${left.join(" ")}` : hasChanged ? " Rolled back: the store is as it was." : "";
  noteFailure(record, revision, message + consequence, work.clock());
  return failed(error, work.log, consequence);
}

/** Sets the time of the next attempt at `revision`, and keeps why it failed, whole. */
export function noteFailure(record: AssignmentRecord, revision: string, why: string, now: Date) {
  const failures = (record.retry?.revision === revision ? record.retry.failures : 0) + 1;
  record.retry = { revision, failures, at: retryAt(failures, record, now), why };
}

/** Returns when what failed so many times for the record's assignment is tried again. */
export const retryAt = (failures: number, record: AssignmentRecord | undefined, now: Date) =>
  now.getTime() + retryDelay(failures, record?.certificate === undefined ? undefined : lifetimeOf(record.certificate));

/** Returns whether a reload failed again with the same words, apart from digits: programs write times and process ids there. */
const isRepetition = (failure: string, message: string) => withoutDigits(failure) === withoutDigits(message);
const withoutDigits = (text: string) => text.replace(/\d/g, "");

/** The assignment's `reloadCommand`, which finds the store's password in its environment; undefined where it has none. */
function reloadOf({ storeType, config: { reloadCommand, storePasswordRef: reference } }: Target) {
  const variable = storeOf(storeType).passwordVariable;
  return reloadCommand && { argv: permittedCall(reloadCommand), ...(variable && reference && { secret: { variable, reference } }) };
}

export async function reload(target: Target, transaction: Transaction) {
  const command = reloadOf(target);
  if (command) await transaction.reload(command.argv, command);
}

/** Runs it once more, for a server that dropped the signal. */
export async function runReload(target: Target, host: Host) {
  const command = reloadOf(target);
  if (command) await execute(host, command);
}
