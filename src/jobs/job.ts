import type { Deps, Handle } from "#deps";
import type { QueuedJob, Work } from "./queue";

/** Work that waits in a queue of the database: each piece is done by one server, and again by another where that one died. */
export type Queued = QueuedJob & { work: (deps: Deps, handle: Handle) => Work<never> };

/**
 * Work that every server which runs jobs does over and over, one turn at a time, the first at its start. `run` decides in the database what is
 * due, so that servers share it and a turn which failed or was cut off is made good by the next. It throws what failed: the log tells it.
 */
export type Repeated = {
  name: string;
  everyMs: number;
  run: (deps: Deps, signal: AbortSignal) => Promise<void>;
  /** Each process does it for itself, also one that runs no other jobs. */
  inEachProcess?: boolean;
  /** One more turn when the server stops, which waits this long for it. */
  lastTurnMs?: number;
};

export type Job = Queued | Repeated;
