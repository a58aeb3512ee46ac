import type { Deps } from "#deps";
import { findStored } from "#modules/issuance/issuers/queries/issuers";
import { openIssuer } from "#modules/issuance/issuers/services/secrets";
import type { Revoked } from "#modules/issuance/issuing/rules/driver";
import { driverOf } from "#modules/issuance/issuing/services/drivers";
import type { Take } from "#modules/platform/jobs/rules";
import { claimDue, type Due, releaseDue, saveExpired, saveFailed, saveRevoked } from "../queries/revoke";
import { againAfter, isWorthEvent } from "../rules";

/** Revocations that are taken at once, all of one issuer and one after the other: no more than can be made within the time of a claim. */
const AT_ONCE = 5;
const CALL_MS = 20_000;

/** Returns what has CAs make the revocations that were made here. Each is asked again until it has, or the certificate has expired. */
export const revoking =
  (deps: Deps): Take =>
  async (room, stopping) => {
    const due = await claimDue(deps.sql, room, AT_ONCE, deps.clock());
    const [first] = due;
    if (!first) return;
    const { organizationId, issuerId } = first;
    const report = (err: unknown) => deps.log.warn({ err, organizationId, issuerId }, "revocations could not be made at a CA; the next try is in two minutes");
    return [{ organizationId, targetId: issuerId, run: () => revokeAll(deps, due, stopping).catch(report) }];
  };

/** Has one issuer make all these revocations. One that is away is asked no more for now. */
async function revokeAll(deps: Deps, due: Due[], stopping: AbortSignal) {
  const { sql, clock } = deps;
  let away: Revoked | undefined;
  for (const [index, each] of due.entries()) {
    if (each.isExpired) {
      await saveExpired(sql, each);
      continue;
    }
    const revoked = away ?? (await revoke(deps, each, stopping));
    if (stopping.aborted && revoked.to === "retry") return void (await releaseDue(sql, due.slice(index), clock())); // the fault may be the stop alone
    if (revoked.to === "revoked") await saveRevoked(sql, each, clock());
    else
      await saveFailed(
        sql,
        each,
        { failure: revoked.reason, dueAt: againAfter(each, revoked, clock(), Math.random()), isEvent: isWorthEvent(each, revoked, clock()) },
        clock(),
      );
    if (revoked.to === "retry" && revoked.ofIssuer) away = revoked;
  }
}

async function revoke(deps: Deps, { organizationId, issuerId, pem, reason }: Due, stopping: AbortSignal): Promise<Revoked> {
  const { sql, clock, log } = deps;
  const stored = await findStored(sql, organizationId, issuerId);
  if (!stored) return { to: "failed", reason: "The issuer was deleted, so that nothing knows the account by which its CA can be asked." };
  const issuer = openIssuer(deps, stored);
  if ("fault" in issuer) return { to: "failed", reason: issuer.fault };
  const driver = driverOf(deps, stored.kind);
  if (!driver?.revoke) return { to: "failed", reason: `This server has no certificates revoked by the kind ${stored.kind}.` };
  try {
    return await driver.revoke(issuer, { pem, reason }, AbortSignal.any([AbortSignal.timeout(CALL_MS), stopping]));
  } catch (err) {
    log.warn({ err, organizationId, issuerId }, "a CA could not be asked for a revocation; it is tried again");
    return { to: "retry", at: clock(), reason: "The attempt failed; the server's log says why." };
  }
}
