import type { Sql } from "#db/connect";
import type { Outcome } from "./rules";

/** A process's news of a job since its last report. Times are in milliseconds before now, so that only the database's clock counts. */
export type RunNews = {
  name: string;
  started: number;
  finished: number | null;
  durationMs: number | null;
  outcome: Outcome | null;
  succeeded: number | null;
  failed: number | null;
  failure: string | null;
  runs: number;
  failures: number;
  seen: number;
};

const ago = (sql: Sql, name: string) => sql.text(`now() - ${name} * interval '1 millisecond'`);
/** SQL expression: the value of the row with the later of two times. */
const later = (sql: Sql, time: string, column: string) =>
  sql.text(`${column} = case when excluded.${time} >= coalesce(kept.${time}, '-infinity') then excluded.${column} else kept.${column} end`);

/** Adds to what is known of each job. Several processes report the same one: the latest counts, and counts add up. */
export const saveRuns = (sql: Sql, server: string, news: RunNews[]) => sql`
  insert into job_runs as kept (name, server, started_at, finished_at, duration_ms, outcome, succeeded_at, failed_at, failure, runs, failures, seen_at)
  select name, ${server}, ${ago(sql, "started")}, ${ago(sql, "finished")}, "durationMs", outcome, ${ago(sql, "succeeded")}, ${ago(sql, "failed")},
    failure, runs, failures, ${ago(sql, "seen")}
  from jsonb_to_recordset(${JSON.stringify(news)}::text::jsonb) as given
    (name text, started float8, finished float8, "durationMs" int, outcome text, succeeded float8, failed float8, failure text, runs bigint, failures bigint, seen float8)
  order by name
  on conflict (name) do update set
    ${later(sql, "started_at", "server")},
    ${later(sql, "finished_at", "duration_ms")},
    ${later(sql, "finished_at", "outcome")},
    ${later(sql, "failed_at", "failure")},
    started_at = greatest(kept.started_at, excluded.started_at),
    finished_at = greatest(kept.finished_at, excluded.finished_at),
    succeeded_at = greatest(kept.succeeded_at, excluded.succeeded_at),
    failed_at = greatest(kept.failed_at, excluded.failed_at),
    runs = kept.runs + excluded.runs,
    failures = kept.failures + excluded.failures,
    seen_at = greatest(kept.seen_at, excluded.seen_at)`;

/** Returns how many milliseconds ago each job was last seen. */
export const listSeen = (sql: Sql) => sql<{ name: string; unseenMs: number }[]>`
  select name, (extract(epoch from now() - seen_at) * 1000)::float8 as "unseenMs" from job_runs`;

export type KeptRun = {
  name: string;
  server: string | null;
  lastStartedAt: string | null;
  lastFinishedAt: string | null;
  lastDurationMs: number | null;
  lastOutcome: Outcome | null;
  lastSucceededAt: string | null;
  lastFailedAt: string | null;
  lastFailure: string | null;
  runs: number;
  failures: number;
  unseenMs: number | null;
  sinceSuccessMs: number | null;
  /** How many jobs a queue has, as the servers that run jobs count every few seconds. */
  queue: { waiting: number; active: number; failed: number } | null;
};

/** Returns what is known of every job that has run, and of every queue. */
export const listRuns = (sql: Sql) => sql<KeptRun[]>`
  select name, r.server, iso(r.started_at) as "lastStartedAt", iso(r.finished_at) as "lastFinishedAt", r.duration_ms as "lastDurationMs",
    r.outcome as "lastOutcome", iso(r.succeeded_at) as "lastSucceededAt", iso(r.failed_at) as "lastFailedAt", r.failure as "lastFailure",
    coalesce(r.runs, 0)::float8 as runs, coalesce(r.failures, 0)::float8 as failures,
    (extract(epoch from now() - r.seen_at) * 1000)::float8 as "unseenMs", (extract(epoch from now() - r.succeeded_at) * 1000)::float8 as "sinceSuccessMs",
    case when q.name is not null then json_build_object('waiting', q.queued_count, 'active', q.active_count, 'failed', q.failed_count) end as queue
  from job_runs r full join pgboss.queue q using (name)`;
