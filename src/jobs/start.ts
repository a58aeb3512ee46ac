import type { Deps, Handle } from "#deps";
import { type JobPlan, ServerStops, turnLimitMs } from "#modules/platform/jobs/rules";
import type { Job, Queued, Repeated } from "./job";
import { repeat } from "./repeat";
import { reportMailServer } from "./send-mail";
import { JOBS } from "./table";

/** How often the log says that a job fails, while the reason is the same. */
const QUIET_MS = 30_000;

const isQueued = (job: Job): job is Queued => "work" in job;
const isRepeated = (job: Job): job is Repeated => "everyMs" in job;

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

/** Begins to work off the queues. Indexing hands its chunks to the application, as any worker does, but without the network. `queue.stop` ends it. */
export async function runQueuedJobs(deps: Deps, handle: Handle, jobs = JOBS) {
  for (const job of jobs.filter(isQueued)) {
    const work = job.work(deps, handle);
    await deps.queue.work(job, (data: never, signal) => deps.jobRuns.track(job.name, () => work(data, signal)));
  }
  void reportMailServer(deps); // one that is away keeps nothing from starting
}

/** Begins the repeated jobs: all of them, or those of each process alone. Returns a function that ends them and waits for the turns at hand. */
export function repeatJobs(deps: Deps, jobs = JOBS) {
  const stops = jobs
    .filter(isRepeated)
    .filter(({ inEachProcess }) => inEachProcess || deps.cluster.runsJobs)
    .map((job) => repeat(job, createTurn(deps, job)));
  return async () => void (await Promise.all(stops.map((stop) => stop())));
}

/** Returns what runs a repeated job once. A failure is logged, but one that goes on only every 30 seconds; the next turn tries again. */
function createTurn(deps: Deps, { name, everyMs, run }: Repeated) {
  let told = "";
  let quietUntil = 0;
  return async (signal: AbortSignal) => {
    try {
      await deps.jobRuns.track(name, () => run(deps, signal));
      told = "";
    } catch (err) {
      const { message } = err as Error;
      if (err instanceof ServerStops || (message === told && performance.now() < quietUntil)) return;
      [told, quietUntil] = [message, performance.now() + QUIET_MS];
      deps.log.warn({ err, job: name, everyMs }, "job failed, tried again at its next turn");
    }
  };
}
