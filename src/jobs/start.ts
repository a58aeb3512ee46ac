import type { Deps, Handle } from "#deps";
import { type JobPlan, ServerStops, turnLimitMs } from "#modules/platform/jobs/rules";
import type { Job, Queued, Repeated, Shared } from "./job";
import { createPlaces } from "./places";
import { repeat } from "./repeat";
import { reportMailServer } from "./send-mail";
import { JOBS } from "./table";

/** How often the log says that a job fails, while the reason is the same. */
const QUIET_MS = 30_000;

const isQueued = (job: Job): job is Queued => "work" in job;
const isShared = (job: Job): job is Shared => "shares" in job;
const isRepeated = (job: Job): job is Repeated => "run" in job;

const planOf = (job: Job): JobPlan =>
  isQueued(job)
    ? { name: job.name, everyMs: job.schedule?.everyMs, limitMs: (job.options.expireInSeconds ?? 900) * 1_000 }
    : { name: job.name, everyMs: job.everyMs, limitMs: turnLimitMs(job.everyMs) };

/** Makes the queues, so that transactions may add to them. */
export const prepareQueues = ({ queue }: Pick<Deps, "queue">) => queue.start(JOBS.filter(isQueued));

/** Makes the queues, and says which jobs are to run. */
export async function prepareJobs(deps: Pick<Deps, "queue" | "jobRuns">) {
  deps.jobRuns.expect(JOBS.map(planOf));
  await prepareQueues(deps);
}

/** A job that does not run because of the clock is late before long: other servers may do it. */
const mayRun = async ({ clockCheck }: Pick<Deps, "clockCheck">, { byClock = false }: Job) => !byClock || clockCheck.agrees();

/**
 * Begins to work off the queues, until `queue.stop`. Indexing hands its chunks to the application as any worker does, but
 * without the network.
 */
export async function runQueuedJobs(deps: Deps, handle: Handle, jobs = JOBS) {
  for (const job of jobs.filter(isQueued)) {
    const work = job.work(deps, handle);
    await deps.queue.work(job, async (data: never, signal) => {
      if (await mayRun(deps, job)) await deps.jobRuns.track(job.name, () => work(data, signal));
    });
  }
  void reportMailServer(deps); // one that is away keeps nothing from starting
}

/**
 * Begins the repeated jobs: all of them, or those of each process alone. Returns a function that ends them and waits for the turns at hand.
 */
export function repeatJobs(deps: Deps, jobs = JOBS) {
  const stops = jobs
    .filter(isRepeated)
    .filter(({ inEachProcess }) => inEachProcess || deps.cluster.runsJobs)
    .map((job) => repeat(job, createTurn(deps, job)));
  const shared = deps.cluster.runsJobs ? jobs.filter(isShared).map((job) => share(deps, job)) : [];
  return async () => void (await Promise.all([...stops, ...shared].map((stop) => stop())));
}

/** Begins a job that calls others. Returns a function that ends it and waits for the work at hand. */
function share(deps: Deps, { source, shares, ...job }: Shared) {
  const places = createPlaces(shares);
  const take = source(deps);
  const stop = repeat(job, createTurn(deps, { ...job, run: (_, stopping) => places.fill(take, stopping) }));
  return async () => {
    await stop();
    await places.empty();
  };
}

/** Returns what runs a repeated job once. A failure is logged, but one that goes on only every 30 seconds; the next turn tries again. */
function createTurn(deps: Deps, job: Repeated) {
  const { name, everyMs, run } = job;
  let logged = "";
  let quietUntil = 0;
  return async (signal: AbortSignal) => {
    try {
      if (await mayRun(deps, job)) await deps.jobRuns.track(name, () => run(deps, signal));
      logged = "";
    } catch (err) {
      const { message } = err as Error;
      if (err instanceof ServerStops || (message === logged && performance.now() < quietUntil)) return;
      [logged, quietUntil] = [message, performance.now() + QUIET_MS];
      deps.log.warn({ err, job: name, everyMs }, "job failed, tried again at its next turn");
    }
  };
}
