import type { Step } from "./driver";

export type OpenStatus = "pending" | "validating" | "issuing";
/** How a request stood before a step. */
export type State = { status: OpenStatus; attempts: number; failingSince: Date | null; issuerFailures: number };

/** What a step makes of a request. */
export type Transition = {
  status: OpenStatus | "failed";
  reason: string | null;
  progress?: object | undefined;
  /** Until the next step is due; 0: at once. */
  waitMs: number;
  isFailure: boolean;
  /** How long nothing asks the issuer; undefined where the fault is the request's alone. */
  restMs?: number;
};

const FIRST_MS = 30_000;
const MAX_MS = 3_600_000;
/** Of the wait, at most, so that what has failed together is not tried again together. */
const JITTER = 0.25;
const GIVEN_UP_MS = 3 * 86_400_000;

/** Returns how long to wait after so many failures in a row: 30, 60, 120 … seconds, an hour at last; never less than `leastMs`, and some more by chance. */
export const backoff = (failures: number, leastMs: number, chance: number) =>
  Math.round(Math.max(Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 20), MAX_MS), leastMs) * (1 + JITTER * chance));

export const isGivenUp = (failingSince: Date | null, now: Date) => failingSince !== null && now.getTime() - failingSince.getTime() > GIVEN_UP_MS;

/** Decides what follows from a step that issued nothing. `chance` is from 0 to 1. */
export function nextOf(state: State, step: Exclude<Step, { to: "issued" }>, now: Date, chance: number): Transition {
  switch (step.to) {
    case "failed":
      return { status: "failed", reason: step.reason, waitMs: 0, isFailure: true };
    case "retry":
      return retryOf(state, step, now, chance);
    default:
      return {
        status: step.to,
        reason: step.reason ?? null,
        progress: step.progress,
        waitMs: Math.max(step.againAt.getTime() - now.getTime(), 0),
        isFailure: false,
      };
  }
}

function retryOf({ status, attempts, failingSince, issuerFailures }: State, step: Extract<Step, { to: "retry" }>, now: Date, chance: number): Transition {
  const { at, reason, progress, ofIssuer } = step;
  const leastMs = at.getTime() - now.getTime();
  const rest = ofIssuer && { restMs: backoff(issuerFailures + 1, leastMs, 0) };
  if (isGivenUp(failingSince, now))
    return { status: "failed", reason: `It was given up after three days of failures. ${reason}`, progress, waitMs: 0, isFailure: true, ...rest };
  return { status, reason, progress, waitMs: backoff(attempts + 1, leastMs, chance), isFailure: true, ...rest };
}
