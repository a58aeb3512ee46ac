import type { Deps } from "#deps";
import { findStored } from "#modules/issuance/issuers/queries";
import { openIssuer } from "#modules/issuance/issuers/services/secrets";
import type { Revoked } from "#modules/issuance/requests/rules/driver";
import { type Drivers, driverOf } from "#modules/issuance/requests/services/drivers";
import { claimDue, type Due, saveExpired, saveFailed, saveTold } from "../queries/tell";
import { againAfter, isTold } from "../rules";

/** Below what can be asked within the time of a claim. */
const AT_ONCE = 5;
const CALL_MS = 20_000;
const TURN_MS = 60_000;

/** Has CAs revoke what was revoked here. Each is asked again until it has, or the certificate has expired. */
export async function tellRevocations(deps: Deps, stopping: AbortSignal, drivers?: Drivers) {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(TURN_MS)]);
  for (let count = AT_ONCE; count === AT_ONCE && !signal.aborted; ) {
    const due = await claimDue(deps.sql, AT_ONCE, deps.clock());
    count = due.length;
    const ofIssuers = Map.groupBy(due, ({ organizationId, issuerId }) => `${organizationId} ${issuerId}`).values();
    await Promise.all([...ofIssuers].map((each) => tellIssuer(deps, drivers, each)));
  }
}

/** Tells one issuer of all these. One that is away is asked no more for now. */
async function tellIssuer(deps: Deps, drivers: Drivers | undefined, due: Due[]) {
  const { sql, clock } = deps;
  let away: Revoked | undefined;
  for (const each of due) {
    if (each.isExpired) {
      await saveExpired(sql, each);
      continue;
    }
    const revoked = away ?? (await revoke(deps, drivers, each));
    if (revoked.to === "revoked") await saveTold(sql, each, clock());
    else
      await saveFailed(
        sql,
        each,
        { failure: revoked.reason, dueAt: againAfter(each, revoked, clock(), Math.random()), isTold: isTold(each, revoked, clock()) },
        clock(),
      );
    if (revoked.to === "retry" && revoked.ofIssuer) away = revoked;
  }
}

async function revoke(deps: Deps, drivers: Drivers | undefined, { organizationId, issuerId, pem, reason }: Due): Promise<Revoked> {
  const { sql, clock, log } = deps;
  const stored = await findStored(sql, organizationId, issuerId);
  if (!stored) return { to: "failed", reason: "The issuer was deleted, so that nothing knows the account by which its CA can be told." };
  const issuer = openIssuer(deps, stored);
  if ("fault" in issuer) return { to: "failed", reason: issuer.fault };
  const driver = driverOf(deps, stored.kind, drivers);
  if (!driver?.revoke) return { to: "failed", reason: `This server has no certificates revoked by the kind ${stored.kind}.` };
  try {
    return await driver.revoke(issuer, { pem, reason }, AbortSignal.timeout(CALL_MS));
  } catch (err) {
    log.warn({ err, organizationId, issuerId }, "a CA could not be told of a revocation; it is tried again");
    return { to: "retry", at: clock(), reason: "The attempt failed; the server's log says why." };
  }
}
