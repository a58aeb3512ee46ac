import { type Result, reconcile, recoverInterrupted, removeAssignment, type Work } from "./reconcile";
import { type DesiredState, type HostFacts, type ServerClient, Unreachable } from "./server-client";
import { type AssignmentRecord, newRecord, noteReport } from "./state";

type Agent = Work & { exchange: ServerClient };
export type Pass = {
  failed: number;
  /** Why the server was not asked with success, where it was not. */
  offline?: Unreachable;
};

/**
 * One pass: take back what a killed agent left unfinished, ask, make every assignment true, report. Without the server, or while
 * it `isQuiet`, it goes by what was desired last.
 */
export async function runPass(agent: Agent, { host, isQuiet = false }: { host?: HostFacts | undefined; isQuiet?: boolean }): Promise<Pass> {
  if (!agent.isDryRun) for (const record of agent.memory.records.values()) await recoverInterrupted(record, agent);
  const { state, offline } = isQuiet ? await readLast(agent) : await readDesired(agent);
  if (!state) return { failed: 0, ...(offline && { offline }) };
  const failed = await reconcileAll(state, agent);
  if (agent.isDryRun || isQuiet || offline) return { failed, ...(offline && { offline }) };
  return { failed, ...(await deliver(agent, host)) };
}

type Reading = { state?: DesiredState; offline?: Unreachable };

async function readLast({ memory }: Agent): Promise<Reading> {
  const known = await memory.readKnown();
  return known ? { state: known.state } : {};
}

async function readDesired({ exchange, memory, isDryRun, log }: Agent): Promise<Reading> {
  const known = await memory.readKnown();
  try {
    const news = await exchange.fetchDesired(known?.etag);
    if (news && !isDryRun) await memory.saveKnown(news);
    const state = news?.state ?? known?.state;
    return state ? { state } : {};
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    log.warn({ reason: error.message, goesByLastState: known !== undefined }, "the server cannot be asked");
    return { ...(known && { state: known.state }), offline: error };
  }
}

/** The new come before the old go, so that a store is never without both; what the old were in the way of is tried again then. */
async function reconcileAll({ items, keep }: DesiredState, agent: Agent) {
  const wanted = new Set([...items.map(({ id }) => id), ...keep]);
  const gone = [...agent.memory.records.values()].filter(({ assignmentId, isGone }) => !isGone && !wanted.has(assignmentId));
  const results = new Map<string, Result>();
  for (const item of items) results.set(item.id, await reconcile(item, agent));
  for (const record of gone) results.set(record.assignmentId, await removeAssignment(record, agent));
  const isRoomMade = gone.some(({ assignmentId }) => isTrue(results.get(assignmentId)));
  if (isRoomMade) for (const item of items) if (!isTrue(results.get(item.id))) results.set(item.id, await reconcile(item, { ...agent, isUrgent: true }));
  if (!agent.isDryRun) for (const [id, result] of results) if (result) await keepReport(agent, id, result);
  return [...results.values()].filter((result) => result?.state === "failed").length;
}

const isTrue = (result: Result) => result !== undefined && result.state !== "failed";

/** Keeps what is news until the server has it; with a failure, when it is tried again. */
async function keepReport({ memory }: Agent, id: string, result: NonNullable<Result>) {
  const record = memory.records.get(id) ?? newRecord(id);
  if (noteReport(record, result) || result.state === "failed") await memory.save(record);
}

/** Delivers the oldest report of each assignment, then the next, until none waits. */
async function deliver(agent: Agent, host: HostFacts | undefined): Promise<{ offline?: Unreachable }> {
  try {
    for (let facts = host; ; facts = undefined) {
      const waiting = [...agent.memory.records.values()].filter(({ reports }) => reports.length > 0);
      if (waiting.length === 0 && !facts) break;
      const reports = waiting.flatMap(({ reports }) => reports.slice(0, 1));
      const unwanted = await agent.exchange.deliver(reports, facts);
      if (unwanted.length > 0) agent.log.info({ assignments: unwanted.map(({ assignmentId }) => assignmentId) }, "the server does not take reports of them");
      for (const record of waiting) await acknowledge(agent, record);
    }
    return {};
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    agent.log.warn({ reason: error.message }, "the reports wait for the next time");
    return { offline: error };
  }
}

async function acknowledge({ memory }: Agent, record: AssignmentRecord) {
  const [said, ...rest] = record.reports;
  Object.assign(record, { said: JSON.stringify(said), reports: rest });
  if (record.isGone && rest.length === 0) await memory.forget(record.assignmentId);
  else await memory.save(record);
}
