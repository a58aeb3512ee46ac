import type { Deps } from "#deps";
import { endPublication, findPublication, listDue } from "../queries";
import { isCrlDue, renewCrl } from "./crl";
import { signDueAnswers } from "./ocsp";
import { openLocked } from "./responder";

/** Rows of one transaction, so that none is long. */
const ANSWERS_AT_ONCE = 200;
const MAX_AUTHORITIES = 10_000;

/**
 * Signs CRLs, responders' certificates and OCSP answers before they end, and at once after a revocation. A key that does not
 * open stops no other authority: the job fails at the end of its turn.
 */
export async function publish(deps: Deps, signal: AbortSignal) {
  const failures: unknown[] = [];
  for (const authorityId of await listDue(deps.sql, deps.clock(), MAX_AUTHORITIES)) {
    if (signal.aborted) return;
    await publishOne(deps, authorityId).catch((error) => failures.push(error));
  }
  let count = ANSWERS_AT_ONCE;
  while (!signal.aborted && count === ANSWERS_AT_ONCE) count = await deps.sql.begin((tx) => signDueAnswers(deps, tx, ANSWERS_AT_ONCE, failures));
  if (failures.length > 0) throw failures[0];
}

const publishOne = (deps: Deps, authorityId: string) =>
  deps.sql.begin(async (tx) => {
    const locked = await findPublication(tx, authorityId, "skip");
    if (!locked) return; // another server is at it
    if (locked.notAfter <= deps.clock()) return void (await endPublication(tx, locked));
    if (isCrlDue(locked, deps.clock())) await renewCrl(deps, tx, locked);
    await openLocked(deps, tx, authorityId);
  });
