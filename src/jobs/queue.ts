import { type Job as Attempt, type JobResult, PgBoss, type QueueOptions } from "pg-boss";
import type { Logger } from "pino";
import { ALONE, type Cluster } from "#cluster/channel";
import type { Pool, Sql } from "#db/connect";

/** A kind of background work: how it is retried and, for what recurs, when (cron, UTC). */
export type Job = { name: string; options: QueueOptions & { deadLetter?: string }; cron?: string };
/** A failure that the job itself has told: it is tried again like any other, without a line of the queue's own. */
export class TryAgain extends Error {}
export type Work<Data> = (data: Data, signal: AbortSignal) => Promise<void>;
export type Queue = ReturnType<typeof createQueue>;

const POLLING_SECONDS = 2;
/** How soon the work of a killed server is noticed, after its last heartbeat. */
const SUPERVISION_SECONDS = 5;
const GRACE = 8_000;
/** While the database is away, the queue errs at every poll. */
const QUIET = 30_000;
const PENDING = ["created", "retry", "active"];

/** Background work in the same database. What is sent in a transaction is there exactly if the transaction is. */
export function createQueue({ sql, log, cluster = ALONE }: { sql: Pool; log: Pick<Logger, "warn">; cluster?: Cluster }) {
  const boss = new PgBoss({
    db: toDatabase(sql, sql),
    supervise: cluster.runsJobs,
    schedule: cluster.runsJobs,
    superviseIntervalSeconds: SUPERVISION_SECONDS,
    monitorIntervalSeconds: SUPERVISION_SECONDS,
    reindex: false,
    monitorVacuum: false,
  });
  let quietUntil = 0;
  boss.on("error", ({ message }) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + QUIET;
    log.warn({ reason: message }, "job queue error");
  });
  const workers = new Map<string, string>();
  let stopping = new AbortController();

  /** Makes the queues, those for dead letters first. Nothing runs before `work`. */
  async function start(jobs: Job[]) {
    stopping = new AbortController();
    await boss.start();
    for (const { name, options, cron } of jobs) {
      await boss.createQueue(name, options);
      await boss.updateQueue(name, options);
      await boss.findJobs(name, { key: "none" }); // now it knows the queue, and need not look it up inside a transaction
      if (cron) await boss.schedule(name, cron);
    }
  }

  /** Runs the jobs of one kind, so many at once: the next ones when all of them have ended. Throwing means: try again later. */
  async function work<Data extends object>(name: string, run: Work<Data>, atOnce = 1) {
    const options = { pollingIntervalSeconds: POLLING_SECONDS, batchSize: atOnce, perJobResults: true } as const;
    const worker = await boss.work<Data, JobResult[]>(name, options, (jobs) => {
      wake(name); // where there was one there may be another: only an empty look waits for the next poll
      return Promise.all(jobs.map((job) => attempt(name, job, run)));
    });
    workers.set(name, worker);
  }

  async function attempt<Data>(name: string, { id, data, signal }: Attempt<Data>, run: Work<Data>): Promise<JobResult> {
    try {
      await run(data, AbortSignal.any([signal, stopping.signal]));
      return { id, status: "completed" };
    } catch (err) {
      if (!stopping.signal.aborted && !(err instanceof TryAgain)) log.warn({ err, job: name, jobId: id }, "job failed, retried while attempts are left");
      return { id, status: "failed", output: err as Error };
    }
  }

  /** Adds a job as part of the transaction `tx`. */
  const send = (tx: Sql, name: string, id: string, data: object) => boss.send(name, data, { id, db: toDatabase(tx) });

  async function isPending(tx: Sql, name: string, id: string) {
    const [found] = await boss.findJobs(name, { id, db: toDatabase(tx) });
    return found !== undefined && PENDING.includes(found.state);
  }

  /** Looks for jobs of this kind at once, rather than at the next poll. */
  function wake(name: string) {
    const worker = workers.get(name);
    if (worker) boss.notifyWorker(worker);
  }

  /** Asks running jobs to give up and waits for them; they begin again when some server starts. */
  async function stop() {
    stopping.abort(new Error("the server is stopping"));
    workers.clear();
    await boss.stop({ graceful: true, timeout: GRACE });
  }

  return { start, work, send, isPending, wake, stop };
}

/** pg-boss's view of a pool or a transaction. Its own transactions are several statements in one text, which need a connection for themselves. */
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
