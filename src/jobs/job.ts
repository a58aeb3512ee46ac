import type { Deps, Handle } from "#deps";
import type { Shares, Take } from "#modules/platform/jobs/rules";
import type { QueuedJob, Work } from "./queue";

type ByClock = {
  /** The server's clock decides what is due, or is sent along: nothing is done while it differs from the database's. */
  byClock?: boolean;
};

/** Work that waits in a queue of the database: each piece is done by one server, and again by another where that one died. */
export type Queued = QueuedJob & ByClock & { work: (deps: Deps, handle: Handle) => Work<never> };

/**
 * Work that every server which runs jobs does over and over, one turn at a time. `run` decides in the database what is due, so that servers
 * share it, and throws what failed, which is logged.
 */
export type Repeated = ByClock & {
  name: string;
  everyMs: number;
  run: (deps: Deps, signal: AbortSignal) => Promise<void>;
  /** Each process does it for itself, also one that runs no other jobs. */
  inEachProcess?: boolean;
  /** One more turn when the server stops, which waits this long for it. */
  lastTurnMs?: number;
};

/**
 * Work that calls others, and waits for them: `source` takes what is due, as far as there are places, and each server does it over and
 * over.
 */
export type Shared = ByClock & { name: string; everyMs: number; shares: Shares; source: (deps: Deps) => Take };

export type Job = Queued | Repeated | Shared;
