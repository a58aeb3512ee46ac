import { bigint, integer, pgTable, text } from "drizzle-orm/pg-core";
import { moment } from "./columns";

/** How each kind of job fared last, on whichever server. A process writes what is new every 15 seconds, however often its jobs run. */
export const jobRuns = pgTable("job_runs", {
  name: text().primaryKey(),
  /** Host name and process id of where it began last. */
  server: text().notNull(),
  startedAt: moment().notNull(),
  /** When it last ended, after how long, and how. */
  finishedAt: moment(),
  durationMs: integer(),
  outcome: text(),
  succeededAt: moment(),
  failedAt: moment(),
  failure: text(),
  runs: bigint({ mode: "number" }).notNull(),
  failures: bigint({ mode: "number" }).notNull(),
  /** When it last began, ended, or was still at it within its time. */
  seenAt: moment().notNull(),
});
