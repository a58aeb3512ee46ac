import { type Job as Attempt, PgBoss, type QueueOptions } from "pg-boss";
import type { Logger } from "pino";
import { ALONE, type Cluster } from "#cluster/channel";
import type { Pool, Sql } from "#db/connect";
import { ServerStops, TryAgain } from "#modules/platform/jobs/rules";

/** When a job recurs (cron, UTC), and how often that is. */
type Schedule = { cron: string; everyMs: number };
export const EACH_MINUTE: Schedule = { cron: "* * * * *", everyMs: 60_000 };
export const eachHour = (minute: number): Schedule => ({ cron: `${minute} * * * *`, everyMs: 3_600_000 });

/**
 * A queue: how its jobs are retried, how many of them run at once in a process (1), whether only one of an organization, which their data
 * then names, and, for what recurs, when.
 */
export type QueuedJob = { name: string; options: QueueOptions & { deadLetter?: string }; atOnce?: number; hasShares?: boolean; schedule?: Schedule };
export type Work<Data> = (data: Data, signal: AbortSignal) => Promise<void>;
export type Queue = ReturnType<typeof createQueue>;

const POLL_EVERY_MS = 2_000;
/** pg-boss's own polling, of each worker: only a safeguard, because ours wakes one that has nothing to do. */
const POLLING_SECONDS = 60;
/** How soon the work of a killed server is noticed, after its last heartbeat. */
const SUPERVISION_SECONDS = 5;
const GRACE = 8_000;
/** While the database is away, the queue errs at every poll. */
const QUIET = 30_000;
const PENDING = ["created", "retry", "active"];

type QueueDeps = { sql: Pool; log: Pick<Logger, "warn">; cluster?: Cluster; supervisionSeconds?: number };

/** Background work in the same database. What is sent in a transaction is there exactly if the transaction is. */
export function createQueue({ sql, log, cluster = ALONE, supervisionSeconds = SUPERVISION_SECONDS }: QueueDeps) {
  const boss = new PgBoss({
    db: toDatabase(sql, sql),
    supervise: cluster.runsJobs,
    schedule: cluster.runsJobs,
    superviseIntervalSeconds: supervisionSeconds,
    monitorIntervalSeconds: supervisionSeconds,
    reindex: false,
    monitorVacuum: false,
  });
  let quietUntil = 0;
  boss.on("error", ({ message }) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + QUIET;
    log.warn({ reason: message }, "job queue error");
  });
  const workers = new Map<string, { id: string; isBusy: boolean }[]>();
  let polling: Timer | undefined;
  let stopping = new AbortController();

  /** Makes the queues that are not there as they should be, those for dead letters first; nothing runs before `work`. */
  async function start(jobs: QueuedJob[]) {
    stopping = new AbortController();
    await boss.start();
    polling = setInterval(() => {
      for (const name of workers.keys()) wake(name);
    }, POLL_EVERY_MS);
    const [queues, schedules] = await Promise.all([boss.getQueues(), boss.getSchedules()]);
    for (const { name, options, schedule } of jobs) {
      if (!queues.some((each) => each.name === name && hasAll(each, options))) await make(name, options);
      if (schedule && !schedules.some((each) => each.name === name && each.cron === schedule.cron)) await boss.schedule(name, schedule.cron);
    }
  }

  async function make(name: string, options: QueuedJob["options"]) {
    await boss.createQueue(name, options);
    await boss.updateQueue(name, options);
    await boss.findJobs(name, { key: "none" }); // now it knows the queue, and need not look it up inside a transaction
  }

  /** Runs the jobs of one kind, so many at once: each that ends makes place for the next. Throwing means: try again later. */
  async function work<Data extends object>({ name, atOnce = 1, hasShares = false }: Pick<QueuedJob, "name" | "atOnce" | "hasShares">, run: Work<Data>) {
    const options = { pollingIntervalSeconds: POLLING_SECONDS, ...(hasShares && { localGroupConcurrency: 1 }) };
    const team = Array.from({ length: atOnce }, () => ({ id: "", isBusy: false }));
    workers.set(name, team);
    for (const worker of team)
      worker.id = await boss.work<Data>(name, options, async ([job]) => {
        if (!job) return;
        worker.isBusy = true;
        boss.notifyWorker(worker.id); // where there was one there may be another: it looks again after this one,
        wake(name); // and another worker at once
        await attempt(name, job, run).finally(() => {
          worker.isBusy = false;
        });
      });
  }

  async function attempt<Data>(name: string, { id, data, signal }: Attempt<Data>, run: Work<Data>) {
    try {
      await run(data, AbortSignal.any([signal, stopping.signal]));
    } catch (err) {
      if (!stopping.signal.aborted && !(err instanceof TryAgain)) log.warn({ err, job: name, jobId: id }, "job failed, retried while attempts are left");
      throw err;
    }
  }

  /** Adds a job as part of the transaction `tx`. */
  const send = (tx: Sql, name: string, id: string, data: { organizationId?: string; [field: string]: unknown }) =>
    boss.send(name, data, { id, db: toDatabase(tx), ...(data.organizationId !== undefined && { group: { id: data.organizationId } }) });

  /** As `send`, for many. */
  const sendMany = (tx: Sql, name: string, jobs: { id: string; data: object }[]) => boss.insert(name, jobs, { db: toDatabase(tx) });

  async function isPending(tx: Sql, name: string, id: string) {
    const [found] = await boss.findJobs(name, { id, db: toDatabase(tx) });
    return found !== undefined && PENDING.includes(found.state);
  }

  /** Looks for jobs of this kind at once, rather than at the next poll, if a worker has nothing to do. */
  function wake(name: string) {
    const idle = workers.get(name)?.find(({ isBusy }) => !isBusy);
    if (idle) boss.notifyWorker(idle.id);
  }

  /** Asks running jobs to give up and waits for them; they begin again when some server starts. */
  async function stop() {
    stopping.abort(new ServerStops());
    clearInterval(polling);
    workers.clear();
    await boss.stop({ graceful: true, timeout: GRACE });
  }

  return { start, work, send, sendMany, isPending, wake, stop };
}

const hasAll = (queue: object, options: object) => Object.entries(options).every(([name, value]) => (queue as Record<string, unknown>)[name] === value);

/**
 * pg-boss's view of a pool or a transaction. Its own transactions are several statements in one text, which need a connection
 * for themselves.
 */
function toDatabase(sql: Sql, pool?: Pool) {
  async function executeSql(text: string, values: unknown[] = []) {
    if (values.length > 0) return { rows: [...(await sql.unsafe(text, values.map(toParameter)))] };
    if (pool && /^\s*begin\b/i.test(text)) return runAlone(pool, text);
    return { rows: [...(await sql.unsafe(text))].flat() };
  }
  return { executeSql };
}

async function runAlone(pool: Pool, text: string) {
  const connection = await pool.reserve();
  try {
    return { rows: [...(await connection.unsafe(text))].flat() };
  } catch (error) {
    await connection.unsafe("rollback");
    throw error;
  } finally {
    connection.release();
  }
}

/** The driver, as drizzle sets it up, takes text alone. */
function toParameter(value: unknown) {
  if (Array.isArray(value)) return `{${value.map((each) => JSON.stringify(String(each))).join(",")}}`;
  if (value instanceof Date) return value.toISOString();
  return (typeof value === "object" && value !== null ? JSON.stringify(value) : (value ?? null)) as string | null;
}
