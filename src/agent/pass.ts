import { inTurns, recoverInterrupted, type Work } from "./attempt";
import type { Listeners } from "./challenges/listeners";
import { showChallenges } from "./challenges/show";
import { runHooks } from "./hooks/hooks";
import { isMoving, reconcileAssignment } from "./install";
import { answerKeyRequests } from "./keys/requests";
import { observeRemoved, removeAssignment } from "./remove";
import { deliverReports, isUnsuccessful, noteResult, type Result } from "./report";
import type { Desired, DesiredState, HostFacts, ServerClient } from "./server-client";
import { newRecord, type State } from "./state";
import { mayLieInSystemStore } from "./targets";
import { Unreachable, Untrusted } from "./transport";

type Agent = Work & {
  client: ServerClient;
  /** The agent's own answers to CAs, kept from one pass to the next. */
  listeners: Listeners;
  /** True when no other pass follows this one. */
  isOnce: boolean;
};
export type Pass = {
  failed: number;
  /** Why the server was not asked with success, where it was not. */
  unreachable?: Unreachable;
  /** True when the pass ended early, which says nothing of the server. */
  isBroken?: boolean;
  /** True when certificates are on their way for keys of this host, and the desired state has changed since the last pass. */
  isAwaiting?: boolean;
  isNews?: boolean;
};

/**
 * One pass: recover an interrupted attempt, fetch the desired state, make every assignment true, report. Without the server, or
 * while `isOffline`, it uses the last desired state and keeps the reports.
 */
export async function runPass(agent: Agent, { host, isOffline = false }: { host?: HostFacts | undefined; isOffline?: boolean }): Promise<Pass> {
  if (!agent.isDryRun) await inTurns(agent, (work) => [...agent.state.records.values()].map((record) => () => recoverInterrupted(record, work)));
  const { desired, isNews = false, ...read } = isOffline ? await readLast(agent) : await fetchDesired(agent);
  if (!desired) return { failed: 0, ...read };
  const shown = await showChallenges(desired, agent, isOffline || read.unreachable !== undefined); // first: a CA waits for it
  const failed = shown.failed + (await reconcileAll(desired, agent));
  const unreachable = read.unreachable ?? shown.unreachable;
  if (isOffline || unreachable) return { failed, ...(unreachable && { unreachable }) };
  const answered = await answerKeyRequests(desired, agent);
  if (agent.isDryRun) return { failed };
  const delivered = answered.unreachable ? answered : await deliverReports(agent, host);
  const isAwaiting = (desired.keys ?? []).length > 0;
  return { ...delivered, failed: failed + answered.failed, ...(isAwaiting && { isAwaiting, isNews }) };
}

type Reading = { desired?: DesiredState; unreachable?: Unreachable; isNews?: boolean };

async function readLast({ state }: Agent): Promise<Reading> {
  const known = await state.readKnown();
  return known ? { desired: known.state } : {};
}

async function fetchDesired({ client, state, isDryRun, log }: Agent): Promise<Reading> {
  const known = await state.readKnown();
  try {
    const changed = await client.fetchDesired(known?.etag, known?.size);
    if (changed && !isDryRun) await state.saveKnown(changed);
    const desired = changed?.state ?? known?.state;
    return desired ? { desired, isNews: changed !== undefined } : {};
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    if (error instanceof Untrusted) log.error({ reason: error.message, usesLastState: known !== undefined }, "the server's answer is refused");
    else log.warn({ reason: error.message, usesLastState: known !== undefined }, "the server cannot be reached");
    return { ...(known && { desired: known.state }), unreachable: error };
  }
}

/**
 * Installs before it removes, so that a store is never without both; what lies in the system's store before all else. An installation that
 * was blocked by a removed one is tried again.
 */
async function reconcileAll(desired: DesiredState, given: Agent) {
  const agent = { ...given, named: namedIn(desired, given.state) };
  const results = await makeTrue(desired, agent);
  if (!agent.isDryRun) for (const [id, result] of results) if (result) await keepReport(agent, id, result);
  if (!agent.isDryRun) await runHooks(agent.state.records.values(), agent);
  if (agent.isOnce) for (const item of desired.items) if (results.get(item.id)?.state === "drifted") results.set(item.id, await observeAgain(item, agent));
  return [...results.values()].filter(isUnsuccessful).length;
}

/** The texts that the server has named until now, by assignment: reports say nothing else of this host. */
function namedIn({ items, remove = [] }: DesiredState, { records }: State) {
  const named = new Map<string, unknown[]>([...records.values()].map(({ assignmentId, target }) => [assignmentId, [target]]));
  for (const item of [...items, ...remove]) named.getOrInsertComputed(item.id, () => []).push(item);
  return named;
}

/** Reports that what was healed is installed, as the next pass would. */
async function observeAgain(item: Desired, agent: Agent) {
  const result = await reconcileAssignment(item, agent);
  if (result) await keepReport(agent, item.id, result);
  return result;
}

async function makeTrue({ items, keep, remove = [] }: DesiredState, given: Agent) {
  const wanted = new Set([...items.map(({ id }) => id), ...keep]);
  const undesired = [...given.state.records.values()].filter(({ assignmentId, isRemoved }) => !isRemoved && !wanted.has(assignmentId));
  const agent = {
    ...given,
    leaving: new Set([...items.filter((item) => isMoving(item, given.state)).map(({ id }) => id), ...undesired.map(({ assignmentId }) => assignmentId)]),
  };
  const results = new Map<string, Result>();
  const lost = new Map(remove.map((item) => [item.id, item]));
  await forgetRemoved(agent.state, (id) => lost.has(id));
  const isFirst = (id: string, item?: Desired) => mayLieInSystemStore(item, given.state.records.get(id)?.target, given.host);
  const tasks = [
    ...items.map((item) => ({ id: item.id, isFirst: isFirst(item.id, item), make: (work: Work) => reconcileAssignment(item, work) })),
    ...undesired.map((record) => {
      const id = record.assignmentId;
      return { id, isFirst: isFirst(id), make: (work: Work) => removeAssignment(record, work, lost.get(id)) };
    }),
  ];
  for (const turn of [true, false])
    await inTurns(agent, (work) =>
      tasks
        .filter((task) => task.isFirst === turn)
        .map(
          ({ id, make }) =>
            async () =>
              void results.set(id, await make(work)),
        ),
    );
  const hasRemoved = undesired.some(({ assignmentId }) => isTrue(results.get(assignmentId)));
  if (hasRemoved)
    await inTurns({ ...agent, ignoreBackoff: true }, (work) =>
      items.filter(({ id }) => !isTrue(results.get(id))).map((item) => async () => void results.set(item.id, await reconcileAssignment(item, work))),
    );
  for (const item of remove) if (!results.has(item.id)) results.set(item.id, await observeRemoved(item, agent));
  return results;
}

/** Forgets what was removed and reported, unless the server still asks for it: what was kept then may be gone later. */
async function forgetRemoved(state: State, isAsked: (id: string) => boolean) {
  for (const { assignmentId, isRemoved, reports } of state.records.values())
    if (isRemoved && reports.length === 0 && !isAsked(assignmentId)) await state.forget(assignmentId);
}

const isTrue = (result: Result) => result !== undefined && !isUnsuccessful(result);

/** Keeps a new report until the server has it; with a failure, the time of the next attempt. */
async function keepReport(agent: Agent, id: string, result: NonNullable<Result>) {
  const { state } = agent;
  const record = state.records.get(id) ?? newRecord(id);
  if (noteResult(record, result, agent) || result.state === "failed") await state.save(record);
}
