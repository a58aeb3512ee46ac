import type { Pool } from "#db/connect";
import { type KeptRun, listRuns, listSeen, type RunNews, saveRuns } from "../queries";
import { isLate, type JobPlan, type Outcome, ServerStops } from "../rules";
import { describeFailure } from "./failure";

/** This process's figures of a job. Times are milliseconds of a clock that never goes back. */
type Figures = {
  startedAt: number;
  /** Runs that have not ended. */
  running: number;
  finishedAt?: number;
  durationMs?: number;
  outcome?: Outcome;
  succeededAt?: number;
  failedAt?: number;
  failure?: string;
  runs: number;
  failures: number;
  totalMs: number;
  /** The written part of `runs` and `failures`; `isNew` while there is more to write. */
  saved: { runs: number; failures: number };
  isNew: boolean;
};

/** The figures of this process since it started. */
type JobFigures = { name: string; runs: number; failures: number; totalMs: number };

export type JobRuns = ReturnType<typeof createJobRuns>;

/** Notes the runs of the jobs of this process, and shows those of all servers. */
export function createJobRuns({ sql, now, server }: { sql: Pool; now: () => number; server: string }) {
  const createdAt = now();
  const plans = new Map<string, JobPlan>();
  const figures = new Map<string, Figures>();

  /** Says which jobs there are. */
  function expect(jobs: JobPlan[]) {
    for (const job of jobs) plans.set(job.name, job);
  }

  /** Runs a job once, and notes how that ends. */
  async function track(name: string, run: () => Promise<void>) {
    const startedAt = now();
    const job = begin(name, startedAt);
    try {
      await run();
      end(job, startedAt, "succeeded");
      job.succeededAt = now();
    } catch (error) {
      if (error instanceof ServerStops) throw error;
      end(job, startedAt, "failed");
      job.failedAt = now();
      job.failures++;
      job.failure = describeFailure(error);
      throw error;
    } finally {
      job.running--;
    }
  }

  function begin(name: string, startedAt: number) {
    const job = figures.get(name) ?? { startedAt, running: 0, runs: 0, failures: 0, totalMs: 0, saved: { runs: 0, failures: 0 }, isNew: true };
    figures.set(name, Object.assign(job, { startedAt, running: job.running + 1, isNew: true }));
    return job;
  }

  function end(job: Figures, startedAt: number, outcome: Outcome) {
    const finishedAt = now();
    const durationMs = finishedAt - startedAt;
    Object.assign(job, { finishedAt, durationMs, outcome, isNew: true, runs: job.runs + 1, totalMs: job.totalMs + durationMs });
  }

  /** Writes what is new in one statement. What cannot be written is kept for the next time. */
  async function save() {
    const at = now();
    const taken = Array.from(figures, ([name, job]) => ({ name, job, counted: { runs: job.runs, failures: job.failures } }));
    const news = taken.filter(({ job }) => job.isNew || job.running > 0);
    if (news.length === 0) return;
    for (const { job } of news) job.isNew = false;
    try {
      await saveRuns(
        sql,
        server,
        news.map(({ name, job }) => newsOf(name, job, at)),
      );
      for (const { job, counted } of news) job.saved = counted;
    } catch (error) {
      for (const { job } of news) job.isNew = true;
      throw error;
    }
  }

  function newsOf(name: string, job: Figures, at: number): RunNews {
    const before = (moment: number | undefined) => (moment === undefined ? null : at - moment);
    const isAtIt = job.running > 0 && at - job.startedAt <= (plans.get(name)?.limitMs ?? 0);
    const { durationMs, outcome = null, failure = null, saved } = job;
    return {
      name,
      started: at - job.startedAt,
      finished: before(job.finishedAt),
      durationMs: durationMs === undefined ? null : Math.min(Math.round(durationMs), 2 ** 31 - 1),
      outcome,
      succeeded: before(job.succeededAt),
      failed: before(job.failedAt),
      failure,
      runs: job.runs - saved.runs,
      failures: job.failures - saved.failures,
      seen: isAtIt ? 0 : at - Math.max(job.startedAt, job.finishedAt ?? job.startedAt),
    };
  }

  const isLateNow = ({ everyMs }: JobPlan, unseenMs: number | null | undefined) => isLate(everyMs, unseenMs ?? Number.POSITIVE_INFINITY, now() - createdAt);

  /**
   * Returns the names of the jobs that no server has run for three of their periods. One statement of a few rows, also where
   * there is no job.
   */
  async function late() {
    const seen = new Map((await listSeen(sql)).map(({ name, unseenMs }) => [name, unseenMs]));
    return [...plans.values()].filter((plan) => isLateNow(plan, seen.get(plan.name))).map(({ name }) => name);
  }

  /** Returns every job of the table, with what all servers know of it. */
  async function list() {
    const kept = new Map(plans.size === 0 ? [] : (await listRuns(sql)).map((run) => [run.name, run]));
    return Array.from(plans.values(), (plan) => {
      const { unseenMs, sinceSuccessMs, ...run } = kept.get(plan.name) ?? { ...NEVER, name: plan.name };
      const everySeconds = plan.everyMs === undefined ? null : plan.everyMs / 1_000;
      return { ...run, everySeconds, isLate: isLateNow(plan, unseenMs), sinceSuccessMs };
    });
  }

  /** Returns what the jobs of this process did since it started. */
  const own = (): JobFigures[] => Array.from(figures, ([name, { runs, failures, totalMs }]) => ({ name, runs, failures, totalMs }));

  return { expect, track, save, late, list, own };
}

const NEVER: Omit<KeptRun, "name"> = {
  server: null,
  lastStartedAt: null,
  lastFinishedAt: null,
  lastDurationMs: null,
  lastOutcome: null,
  lastSucceededAt: null,
  lastFailedAt: null,
  lastFailure: null,
  runs: 0,
  failures: 0,
  unseenMs: null,
  sinceSuccessMs: null,
  queue: null,
};
