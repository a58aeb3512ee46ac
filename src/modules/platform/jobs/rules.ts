/**
 * A failure that the job itself has logged: it is tried again like any other, without a line of the queue's own. Its message
 * holds no secret.
 */
export class TryAgain extends Error {}

/** Why a run was cut off: neither a success nor a failure. */
export class ServerStops extends Error {
  constructor() {
    super("the server is stopping");
  }
}

export type Outcome = "succeeded" | "failed";

/** Processes write the runs of their jobs so often: a job that runs more often is known no better. */
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

/** How many places a process has for work that calls others: in all, for one organization, and for one target of it, such as an issuer. */
export type Shares = { total: number; ofOrganization: number; ofTarget: number };
/** The organization and target that take a place. */
export type Holder = { organizationId: string; targetId: string };
/** Work that was taken, and takes a place until it ends. `run` never rejects: it logs its failures. */
export type Piece = Holder & { run: () => Promise<void> };
/** The organizations and targets that have no place left, and how many places another one has. */
export type Room = { fullOrganizations: string[]; fullTargets: string[]; of: (holder: Holder) => number };
/**
 * Takes what is due of one target that has room, no more than it has places; undefined where nothing is due. `stopping` is for
 * the work.
 */
export type Take = (room: Room, stopping: AbortSignal) => Promise<Piece[] | undefined>;
