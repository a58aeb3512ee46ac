import { retryAfter } from "./backoff";
import { type Plan, planRenewal, type Validity, type Window } from "./plan";

const DAY = 86_400_000;
/** Nothing is tried any more so long after a certificate has expired. */
const GIVEN_UP_MS = 30 * DAY;
/** Reasons of revocation after which a certificate is not wanted any more, or only for a while. */
const UNWANTED = ["affiliationChanged", "cessationOfOperation", "privilegeWithdrawn", "certificateHold"];

/**
 * `scheduled` until it is ordered, `ordered` while a request is open, `failed` until the next order, `issued` until its successor comes to
 * the hosts, then `renewed`; `ended` once nothing renews it.
 */
export const STATES = ["scheduled", "ordered", "failed", "issued", "renewed", "ended"] as const;
export type State = (typeof STATES)[number];

/** A certificate that an issuer renews, as it is found. */
export type RenewalFacts = Validity &
  Plan & {
    status: "active" | "revoked" | "retired";
    revocationReason: string | null;
    state: State;
    isPlanned: boolean;
    askedAt: Date | null;
    window: Window | null;
    /** The moment at which it is ordered again, after a failure. */
    retryAt: Date | null;
    isLate: boolean;
    failures: number;
    failure: string | null;
    /** The request that renews it, while the state is `ordered`. */
    request: { status: "open" | "issued" | "failed" | "cancelled"; reason: string | null } | null;
    /** A rotation brings another certificate in its place. */
    isRotated: boolean;
    isDeployed: boolean;
    /** Its renewals have the same key, which their CSR holds. */
    keepsKey: boolean;
    /** The agent that has its key was deleted. */
    isHostGone: boolean;
    isIssuerGone: boolean;
    /** A person cancelled or refused the request that was to renew it, or the one that its renewal would follow. */
    isCancelled: boolean;
  };

/** The decision of a review. `news` are recorded as events; `over`: the states of earlier ones have ended. */
export type Decision = Pick<RenewalFacts, "state" | "renewAt" | "lateAt" | "retryAt" | "isLate" | "failures" | "failure"> & {
  /** The next review, unless something happens before. */
  reviewAt: Date | null;
  isRequested: boolean;
  news: ("failed" | "late" | "over")[];
};

/** Decides on a renewal whose review is due. Nothing is ordered before `restsUntil`; `chance` is from 0 to 1. */
export function decide(row: RenewalFacts, restsUntil: Date | null, now: Date, chance: number): Decision {
  if (row.request?.status === "issued") return end(row, row.isDeployed && row.status !== "retired" ? "issued" : "renewed", null, now);
  const ending = findEnding(row, now);
  if (ending !== undefined) return end(row, "ended", ending, now);
  if (row.request?.status === "open") return wait({ ...row, ...planned(row, now), failure: row.request.reason }, [], now);
  if (row.request) return fail(row, row.request.reason ?? "The certificate request failed.", now, chance);
  if (row.isRotated) return end(row, "renewed", null, now);
  if (row.isIssuerGone) return end(row, "ended", "The issuer was deleted.", now);
  return schedule({ ...row, ...planned(row, now) }, restsUntil, now);
}

/** Returns the reason why nothing renews it any more, or undefined. */
function findEnding({ status, revocationReason, notAfter, keepsKey, isHostGone, isCancelled }: RenewalFacts, now: Date) {
  if (isCancelled) return "The certificate request that was to renew it was cancelled or refused.";
  if (status === "retired") return "The certificate is retired.";
  if (status === "revoked" && revocationReason !== null && UNWANTED.includes(revocationReason)) return `The certificate was revoked: ${revocationReason}.`;
  if (status === "revoked" && revocationReason === "keyCompromise" && keepsKey)
    return "Its key is compromised, and its CSR has the same one: send another request.";
  if (isHostGone) return "The agent that has its key was deleted.";
  if (now.getTime() - notAfter.getTime() > GIVEN_UP_MS) return "It was given up, thirty days after the certificate expired.";
}

const end = (row: RenewalFacts, state: "issued" | "renewed" | "ended", failure: string | null, now: Date): Decision => ({
  ...kept(row),
  state,
  failure,
  retryAt: null,
  isLate: false,
  reviewAt: state === "issued" ? now : null,
  isRequested: false,
  news: ["over"],
});

const kept = ({ state, renewAt, lateAt, retryAt, isLate, failures, failure }: RenewalFacts) => ({ state, renewAt, lateAt, retryAt, isLate, failures, failure });

/** The plan of one that has none, that is wanted again, or that was revoked before its time. */
function planned(row: RenewalFacts, now: Date): Plan {
  const isUrgent = row.status === "revoked";
  const isNew = !row.isPlanned || row.state === "ended" || (isUrgent && row.renewAt > now);
  return isNew ? planRenewal(row, { ...row, isUrgent }, now) : row;
}

/** A request has failed, or was not made. It is ordered again later; one that a person made before its time, when its time has come. */
export function fail(row: RenewalFacts, reason: string, now: Date, chance: number): Decision {
  const plan = planned(row, now);
  const failures = row.failures + 1;
  const retryAt = later(retryAfter({ ...row, failures }, now, chance), plan.renewAt);
  return wait({ ...row, ...plan, state: "failed", failures, failure: reason, retryAt }, ["failed"], now);
}

function schedule(row: RenewalFacts, restsUntil: Date | null, now: Date): Decision {
  const state = row.state === "failed" ? "failed" : "scheduled";
  const ownAt = state === "failed" && row.retryAt ? row.retryAt : row.renewAt;
  const nextAt = later(ownAt, restsUntil) ?? ownAt;
  if (nextAt > now) return wait({ ...row, state, ...(state === "failed" && { retryAt: nextAt }) }, [], now, nextAt);
  return { ...wait({ ...row, state: "ordered", retryAt: null }, [], now), isRequested: true };
}

/** Nothing to do but wait, until it is late at the longest. */
function wait(row: RenewalFacts, news: Decision["news"], now: Date, until: Date | null = row.state === "failed" ? row.retryAt : null): Decision {
  const isLate = row.isLate || row.lateAt <= now;
  const moments = [until, isLate ? null : row.lateAt].filter((each) => each !== null).toSorted((a, b) => a.getTime() - b.getTime());
  return { ...kept(row), isLate, reviewAt: moments[0] ?? null, isRequested: false, news: isLate && !row.isLate ? [...news, "late"] : news };
}

/** Puts off what is to be ordered, until then. */
export const putOff = (row: RenewalFacts, until: Date, now: Date): Decision =>
  wait({ ...row, ...planned(row, now), state: row.state === "failed" ? "failed" : "scheduled" }, [], now, until);

/** Returns the later of two moments. */
export const later = (one: Date | null, other: Date | null) => (one === null || (other !== null && other > one) ? other : one);
