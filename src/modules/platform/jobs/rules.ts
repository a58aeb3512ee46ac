/** A failure that the job itself has told: it is tried again like any other, without a line of the queue's own. Its message holds no secret. */
export class TryAgain extends Error {}

/** Why a run was cut off: neither a success nor a failure. */
export class ServerStops extends Error {
  constructor() {
    super("the server is stopping");
  }
}

export type Outcome = "succeeded" | "failed";

/** Processes write how their jobs fare so often: a job that runs more often is known no better. */
export const SAVE_EVERY_MS = 15_000;
/** Periods after which a job that was not seen is late. */
const PERIODS = 3;
/** How long a turn of a repeated job may take, whatever its period, before it no longer counts as a sign of life. */
const TURN_MS = 600_000;

/** A job as the table of jobs has it: how often it runs (undefined: when there is something to do), and how long one run may take. */
export type JobPlan = { name: string; everyMs: number | undefined; limitMs: number };

/** Returns after how many milliseconds without a sign of life a job is late. */
const lateAfterMs = (everyMs: number) => PERIODS * Math.max(everyMs, SAVE_EVERY_MS);

/** Returns how long one turn of a repeated job may take. */
export const turnLimitMs = (everyMs: number) => Math.max(PERIODS * everyMs, TURN_MS);

/** A server that has just started calls no job late: it was not seen while no server ran. */
export const isLate = (everyMs: number | undefined, unseenMs: number, uptimeMs: number) =>
  everyMs !== undefined && Math.min(unseenMs, uptimeMs) > lateAfterMs(everyMs);
