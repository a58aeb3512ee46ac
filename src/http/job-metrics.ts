import { Counter, Gauge, type Registry } from "prom-client";
import type { JobRuns } from "#modules/platform/jobs/services/job-runs";
import { createReading } from "./reading";

const READ_EVERY_MS = 15_000;

type JobMetricsDeps = { registry: Registry; jobRuns: Pick<JobRuns, "own" | "list">; patienceMs: number; isFirst: boolean };

/**
 * Adds what this process did, and what all servers know, as far as the first process of each shows. Jobs have the label `name`, because
 * Prometheus writes its own `job` over a series' own.
 */
export function addJobMetrics({ registry, jobRuns, patienceMs, isFirst }: JobMetricsDeps) {
  const registers = [registry];
  const read = createReading(jobRuns.list, { everyMs: READ_EVERY_MS, patienceMs });
  new Counter({
    name: "certitude_job_runs_total",
    help: "Background jobs that this process ran, by their outcome.",
    labelNames: ["name", "outcome"],
    registers,
    collect() {
      this.reset();
      for (const { name, runs, failures } of jobRuns.own()) {
        this.inc({ name, outcome: "succeeded" }, runs - failures);
        this.inc({ name, outcome: "failed" }, failures);
      }
    },
  });
  new Counter({
    name: "certitude_job_seconds_total",
    help: "How long the background jobs of this process ran.",
    labelNames: ["name"],
    registers,
    collect() {
      this.reset();
      for (const { name, totalMs } of jobRuns.own()) this.inc({ name }, totalMs / 1_000);
    },
  });
  if (!isFirst) return;
  new Gauge({
    name: "certitude_job_seconds_since_success",
    help: "Seconds since a background job last succeeded on any server.",
    labelNames: ["name"],
    registers,
    async collect() {
      const { value: jobs = [], ageMs = 0 } = (await read()) ?? {};
      this.reset();
      for (const { name, sinceSuccessMs } of jobs) if (sinceSuccessMs !== null) this.set({ name }, (sinceSuccessMs + ageMs) / 1_000);
    },
  });
  new Gauge({
    name: "certitude_job_late",
    help: "1 where no server has run a background job for three of its periods, else 0.",
    labelNames: ["name"],
    registers,
    async collect() {
      const { value: jobs = [] } = (await read()) ?? {};
      this.reset();
      for (const { name, isLate } of jobs) this.set({ name }, Number(isLate));
    },
  });
  new Gauge({
    name: "certitude_job_queue_jobs",
    help: "Jobs in the queues of all servers: waiting, active, or failed for good in the last days.",
    labelNames: ["name", "state"],
    registers,
    async collect() {
      const { value: jobs = [] } = (await read()) ?? {};
      this.reset();
      for (const { name, queue } of jobs) for (const [state, count] of Object.entries(queue ?? {})) this.set({ name, state }, count);
    },
  });
}
