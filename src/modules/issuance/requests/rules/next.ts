import type { Step } from "#modules/issuance/issuing/rules/driver";
import { backoff } from "#runtime/backoff";

export type OpenStatus = "pending" | "validating" | "issuing";
/** The state of a request before a step. */
export type State = {
  status: OpenStatus;
  attempts: number;
  failingSince: Date | null;
  issuerFailures: number;
  /** Of the certificate that it renews. */
  replacedLifetimeMs: number | null;
};

/** The state of a request after a step. */
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

const WAITS_MS = { first: 30_000, longest: 3_600_000 };
/** Of the wait, at most, so that what has failed together is not tried again together. */
const JITTER = 0.25;
const GIVEN_UP_MS = 3 * 86_400_000;
/** Of the lifetime of the certificate that is renewed, at most; but never sooner than after SHORTEST_MS. */
const OF_LIFETIME = 1 / 30;
const SHORTEST_MS = 5_000;

/**
 * Returns how long to wait after so many failures in a row: 30, 60, 120 … seconds, an hour at last, `mostMs` at most; never less than
 * `leastMs`, and some more by chance.
 */
export const waitAfter = (failures: number, leastMs: number, chance: number, mostMs = WAITS_MS.longest) =>
  Math.round(Math.max(Math.min(backoff(WAITS_MS, failures), mostMs), leastMs) * (1 + JITTER * chance));

/** Returns how long a renewal may wait at most, so that a certificate that lives minutes is not lost to one wait. */
const mostOf = (lifetimeMs: number | null) => (lifetimeMs === null ? WAITS_MS.longest : Math.max(lifetimeMs * OF_LIFETIME, SHORTEST_MS));

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

function retryOf(
  { status, attempts, failingSince, issuerFailures, replacedLifetimeMs }: State,
  step: Extract<Step, { to: "retry" }>,
  now: Date,
  chance: number,
): Transition {
  const { at, reason, progress, ofIssuer } = step;
  const leastMs = at.getTime() - now.getTime();
  const mostMs = mostOf(replacedLifetimeMs);
  const rest = ofIssuer && { restMs: waitAfter(issuerFailures + 1, leastMs, 0, mostMs) };
  if (isGivenUp(failingSince, now))
    return { status: "failed", reason: `It was given up after three days of failures. ${reason}`, progress, waitMs: 0, isFailure: true, ...rest };
  return { status, reason, progress, waitMs: waitAfter(attempts + 1, leastMs, chance, mostMs), isFailure: true, ...rest };
}
