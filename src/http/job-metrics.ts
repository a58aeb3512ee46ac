import { Counter, Gauge, type Registry } from "prom-client";
import { isDatabaseAway } from "#db/failures";
import type { JobRuns } from "#modules/platform/jobs/services/job-runs";

const READ_EVERY_MS = 15_000;

type Needs = { registry: Registry; jobRuns: Pick<JobRuns, "own" | "list">; isFirst: boolean };

/** Adds what this process did, and what all servers know, as far as the first process of each tells. */
export function addJobMetrics({ registry, jobRuns, isFirst }: Needs) {
  const registers = [registry];
  const read = createReading(jobRuns);
  new Counter({
    name: "certitude_job_runs_total",
    help: "Background jobs that this process ran, by their outcome.",
    labelNames: ["job", "outcome"],
    registers,
    collect() {
      this.reset();
      for (const { name, runs, failures } of jobRuns.own()) {
        this.inc({ job: name, outcome: "succeeded" }, runs - failures);
        this.inc({ job: name, outcome: "failed" }, failures);
      }
    },
  });
  new Counter({
    name: "certitude_job_seconds_total",
    help: "How long the background jobs of this process ran.",
    labelNames: ["job"],
    registers,
    collect() {
      this.reset();
      for (const { name, totalMs } of jobRuns.own()) this.inc({ job: name }, totalMs / 1_000);
    },
  });
  if (!isFirst) return;
  new Gauge({
    name: "certitude_job_seconds_since_success",
    help: "Seconds since a background job last succeeded on any server.",
    labelNames: ["job"],
    registers,
    async collect() {
      const { jobs, ageMs } = await read();
      this.reset();
      for (const { name, sinceSuccessMs } of jobs) if (sinceSuccessMs !== null) this.set({ job: name }, (sinceSuccessMs + ageMs) / 1_000);
    },
  });
  new Gauge({
    name: "certitude_job_queue_jobs",
    help: "Jobs in the queues of all servers: waiting, active, or failed for good in the last days.",
    labelNames: ["job", "state"],
    registers,
    async collect() {
      const { jobs } = await read();
      this.reset();
      for (const { name, queue } of jobs) for (const [state, count] of Object.entries(queue ?? {})) this.set({ job: name, state }, count);
    },
  });
}

/** Reads the database every 15 seconds at most. While it is away, what was read last grows older. */
function createReading({ list }: Needs["jobRuns"]) {
  let jobs: Awaited<ReturnType<JobRuns["list"]>> = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let reading = Promise.resolve();
  async function readIfOld() {
    if (performance.now() - readAt <= READ_EVERY_MS) return;
    try {
      jobs = await list();
      readAt = performance.now();
    } catch (error) {
      if (!isDatabaseAway(error)) throw error;
    }
  }
  return async () => {
    reading = reading.then(readIfOld, readIfOld);
    await reading;
    return { jobs, ageMs: performance.now() - readAt };
  };
}
