import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { lockIssuer } from "#modules/issuance/issuers/queries/due";
import { DEFAULT_POLICY, findPolicyFault } from "#modules/issuance/issuing/rules/policy";
import { findPolicy } from "#modules/issuance/requests/queries/requests";
import { requestSuccessors } from "../queries/order";
import { type DueRenewal, endDeleted, findDueIssuer, findIssuerStanding, type IssuerKey, saveDecisions, saveIssuerStanding, takeDue } from "../queries/review";
import { FAILURES_ALLOWED, restAfter, standingOf } from "../rules/backoff";
import { type Decision, decide, fail, later, putOff } from "../rules/next";
import { startRotations } from "./rotate";

/** Renewals of one transaction, so that none is long: choosing them takes some milliseconds. */
const AT_ONCE = 150;
/** The time for which a renewal waits for another order of the same names. */
const IN_THE_WAY_MS = 60_000;
/** A turn of the job ends then, so that it is seen. */
const TURN_MS = 60_000;

/**
 * Reviews every renewal that is due: orders successors, saves the outcomes of requests, and starts rotations of what was issued. What a
 * crash cuts off is done by the next turn, or by another server.
 */
export async function renewDue(deps: Deps, stopping: AbortSignal) {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(TURN_MS)]);
  while (!signal.aborted && (await endDeleted(deps.sql, AT_ONCE)));
  while (!signal.aborted && (await renewInTurn(deps, signal)));
  await startRotations(deps, signal);
}

/**
 * Reviews some renewals of every issuer that has any due, so that the many of one hold up no other. Returns whether an issuer may have
 * more.
 */
async function renewInTurn({ sql, stamps, clock }: Deps, signal: AbortSignal) {
  const seen: string[] = [];
  let hasMore = false;
  for (let due = await findDueIssuer(sql, seen, clock()); due && !signal.aborted; due = await findDueIssuer(sql, seen, clock())) {
    seen.push(due.issuerId);
    if ((await renewSome({ sql, stamps }, due, clock())) === AT_ONCE) hasMore = true;
  }
  return hasMore;
}

type Decided = { row: DueRenewal; next: Decision };

/** Reviews the renewals of an issuer that were due first. Returns how many they were. */
const renewSome = ({ sql, stamps }: Pick<Deps, "sql" | "stamps">, of: IssuerKey, now: Date) =>
  sql.begin(async (tx) => {
    await lockIssuer(tx, of.organizationId, of.issuerId);
    const before = await findIssuerStanding(tx, of);
    const due = await takeDue(tx, of, AT_ONCE, now);
    const { failures, restsUntil } = standingOf(
      before,
      due.map(({ request }) => request?.status),
      now,
    );
    const decided = due.map((row) => ({ row, next: decide(row, later(restsUntil, before.retryAt), now, Math.random()) }));
    const permitted = await applyPolicy(tx, of, decided, now);
    const requests = failures < FAILURES_ALLOWED ? permitted : keepOneRequest(permitted, failures, now);
    const kept = await requestDue(tx, stamps, of, requests, now);
    await saveDecisions(tx, of.organizationId, kept, now);
    const isTried = failures >= FAILURES_ALLOWED && kept.some(({ next }) => next.isRequested);
    await saveIssuerStanding(tx, of, before, { failures, restsUntil: isTried ? new Date(now.getTime() + restAfter(failures)) : restsUntil });
    return due.length;
  });

/** Fails the orders that the organization's policy does not allow any more. */
async function applyPolicy(tx: Sql, { organizationId }: IssuerKey, decided: Decided[], now: Date): Promise<Decided[]> {
  if (!decided.some(({ next }) => next.isRequested)) return decided;
  const policy = (await findPolicy(tx, organizationId)) ?? DEFAULT_POLICY;
  return decided.map(({ row, next }) => {
    const fault = next.isRequested ? findPolicyFault(policy, { names: row.names, key: { algorithm: row.keyAlgorithm, location: row.keyLocation } }) : undefined;
    return { row, next: fault === undefined ? next : fail(row, fault.replace("body.names has", "It has the name"), now, Math.random()) };
  });
}

/** Puts off all orders but the first: of an issuer that fails, one renewal is tried. */
function keepOneRequest(decided: Decided[], failures: number, now: Date): Decided[] {
  const first = decided.find(({ next }) => next.isRequested);
  const until = new Date(now.getTime() + restAfter(failures));
  return decided.map((each) => (each.next.isRequested && each !== first ? { ...each, next: putOff(each.row, until, now) } : each));
}

/** Orders what is to be ordered; another order of the same names may be in the way. */
async function requestDue(tx: Sql, stamps: Stamps, { organizationId, issuerId }: IssuerKey, decided: Decided[], now: Date): Promise<Decided[]> {
  const wanted = decided.filter(({ next }) => next.isRequested).map(({ row }) => row.certificateId);
  if (wanted.length === 0) return decided;
  const ordered = await requestSuccessors(tx, stamps, { organizationId, actor: { type: "server" }, requestId: null }, issuerId, wanted);
  const until = new Date(now.getTime() + IN_THE_WAY_MS);
  return decided.map(({ row, next }) => ({ row, next: next.isRequested && !ordered.has(row.certificateId) ? putOff(row, until, now) : next }));
}
