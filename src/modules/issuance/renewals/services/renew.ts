import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { findPolicy, lockIssuer } from "#modules/issuance/requests/queries/requests";
import { DEFAULT_POLICY, findPolicyFault } from "#modules/issuance/requests/rules/policy";
import { endDeleted, type Found, findDueIssuer, findRest, keepNext, type OfIssuer, saveRest, takeDue } from "../queries/look";
import { orderSuccessors, stampSuccessors } from "../queries/order";
import { FORGIVEN, fareOf, restAfter } from "../rules/backoff";
import { decide, fail, later, type Next, putOff } from "../rules/next";
import { startRotations } from "./rotate";

/** Renewals of one transaction, so that none is long: choosing them takes some milliseconds. */
const AT_ONCE = 150;
/** How long a renewal waits for another order of the same names. */
const IN_THE_WAY_MS = 60_000;
/** A turn of the job ends then, so that it is seen. */
const TURN_MS = 60_000;

/**
 * Looks at every renewal that is due: orders successors, keeps what came of the requests, and has hosts get what was issued. Each step is kept in the
 * database: what a crash cuts off is done by the next turn, and by one of several servers.
 */
export async function renewDue(deps: Deps, stopping: AbortSignal) {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(TURN_MS)]);
  while (!signal.aborted && (await endDeleted(deps.sql, AT_ONCE)));
  while (!signal.aborted && (await renewInTurn(deps, signal)));
  await startRotations(deps, signal);
}

/** Looks at some renewals of every issuer that has any due, so that the many of one hold up no other. Returns whether an issuer may have more. */
async function renewInTurn({ sql, stamps, clock }: Deps, signal: AbortSignal) {
  const seen: string[] = [];
  let hasMore = false;
  for (let due = await findDueIssuer(sql, seen, clock()); due && !signal.aborted; due = await findDueIssuer(sql, seen, clock())) {
    seen.push(due.issuerId);
    if ((await renewSome({ sql, stamps }, due, clock())) === AT_ONCE) hasMore = true;
  }
  return hasMore;
}

type Decided = { row: Found; next: Next };

/** Looks at the renewals of an issuer that were due first. Returns how many they were. */
const renewSome = ({ sql, stamps }: Pick<Deps, "sql" | "stamps">, of: OfIssuer, now: Date) =>
  sql.begin(async (tx) => {
    await lockIssuer(tx, of.organizationId, of.issuerId);
    const rest = await findRest(tx, of);
    const due = await takeDue(tx, of, AT_ONCE, now);
    const { failures, restsUntil } = fareOf(
      rest,
      due.map(({ request }) => request?.status),
      now,
    );
    const decided = due.map((row) => ({ row, next: decide(row, later(restsUntil, rest.retryAt), now, Math.random()) }));
    const permitted = await judgeByPolicy(tx, of, decided, now);
    const spared = failures < FORGIVEN ? permitted : orderOne(permitted, failures, now);
    const kept = await order(tx, stamps, of, spared, now);
    await keepNext(tx, of.organizationId, kept, now);
    const isTried = failures >= FORGIVEN && kept.some(({ next }) => next.isOrdered);
    await saveRest(tx, of, rest, { failures, restsUntil: isTried ? new Date(now.getTime() + restAfter(failures)) : restsUntil });
    return due.length;
  });

/** What the organization's policy does not allow any more is not ordered. */
async function judgeByPolicy(tx: Sql, { organizationId }: OfIssuer, decided: Decided[], now: Date): Promise<Decided[]> {
  if (!decided.some(({ next }) => next.isOrdered)) return decided;
  const policy = (await findPolicy(tx, organizationId)) ?? DEFAULT_POLICY;
  return decided.map(({ row, next }) => {
    const fault = next.isOrdered ? findPolicyFault(policy, { names: row.names, key: { algorithm: row.keyAlgorithm, location: row.keyLocation } }) : undefined;
    return { row, next: fault === undefined ? next : fail(row, fault.replace("body.names has", "It has the name"), now, Math.random()) };
  });
}

/** Of an issuer that fails, one renewal is tried. */
function orderOne(decided: Decided[], failures: number, now: Date): Decided[] {
  const first = decided.find(({ next }) => next.isOrdered);
  const until = new Date(now.getTime() + restAfter(failures));
  return decided.map((each) => (each.next.isOrdered && each !== first ? { ...each, next: putOff(each.row, until, now) } : each));
}

/** Orders what is to be ordered; another order of the same names may be in the way. */
async function order(tx: Sql, stamps: Stamps, { organizationId, issuerId }: OfIssuer, decided: Decided[], now: Date): Promise<Decided[]> {
  const wanted = decided.filter(({ next }) => next.isOrdered).map(({ row }) => row.certificateId);
  if (wanted.length === 0) return decided;
  const ordered = await orderSuccessors(tx, { organizationId, actor: { type: "server" }, requestId: null }, issuerId, wanted);
  await stampSuccessors(tx, stamps, organizationId, [...ordered]);
  const until = new Date(now.getTime() + IN_THE_WAY_MS);
  return decided.map(({ row, next }) => ({ row, next: next.isOrdered && !ordered.has(row.certificateId) ? putOff(row, until, now) : next }));
}
