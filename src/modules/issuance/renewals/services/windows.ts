import type { Deps } from "#deps";
import { findStored } from "#modules/issuance/issuers/queries/issuers";
import { openIssuer } from "#modules/issuance/issuers/services/secrets";
import type { Driver } from "#modules/issuance/issuing/rules/driver";
import { driverOf } from "#modules/issuance/issuing/services/drivers";
import type { Take } from "#modules/platform/jobs/rules";
import { type AskedCertificate, claimWindows, saveAsked, saveWindow } from "../queries/windows";

/**
 * Certificates that are taken at once, all of one issuer, and asked about one after the other: below what can be asked within the time of a
 * claim.
 */
const AT_ONCE = 40;
const CALL_MS = 5_000;
/** When a CA that did not answer is asked again. */
const AGAIN_MS = 6 * 3_600_000;

/** Returns what asks CAs when they want certificates to be renewed (RFC 9773), each as often as it says. */
export const asking =
  (deps: Deps): Take =>
  async (room, stopping) => {
    const asked = await claimWindows(deps.sql, room, AT_ONCE, deps.clock());
    const [first] = asked;
    if (!first) return;
    const { organizationId, issuerId } = first;
    const report = (err: unknown) =>
      deps.log.warn({ err, organizationId, issuerId }, "a CA could not be asked for renewal windows; the next try is in five minutes");
    return [{ organizationId, targetId: issuerId, run: () => askIssuer(deps, asked, stopping).catch(report) }];
  };

/** Asks one issuer of all these. One that does not answer is asked no more for now. */
async function askIssuer(deps: Deps, asked: AskedCertificate[], stopping: AbortSignal) {
  const { sql, clock, log } = deps;
  const { organizationId = "", issuerId = "" } = asked[0] ?? {};
  const stored = await findStored(sql, organizationId, issuerId);
  const issuer = stored && openIssuer(deps, stored);
  const driver = stored && driverOf(deps, stored.kind);
  for (const [index, each] of asked.entries()) {
    if (stopping.aborted) return; // the claim ends soon
    try {
      await askOne(deps, issuer, driver, each);
    } catch (err) {
      log.warn({ err, organizationId, issuerId }, "a CA was asked in vain when it wants certificates to be renewed; it is asked again in six hours");
      for (const rest of asked.slice(index)) await saveAsked(sql, rest, new Date(clock().getTime() + AGAIN_MS * (1 + Math.random())));
      return;
    }
  }
}

async function askOne({ sql, clock }: Deps, issuer: ReturnType<typeof openIssuer> | undefined, driver: Driver | undefined, asked: AskedCertificate) {
  if (!driver?.findRenewalWindow) return saveAsked(sql, asked, null);
  if (!issuer || "fault" in issuer) throw new Error(issuer?.fault ?? "its issuer is gone");
  const window = await driver.findRenewalWindow(issuer, asked.pem, AbortSignal.timeout(CALL_MS));
  if (window) return saveWindow(sql, asked, window);
  return saveAsked(sql, asked, new Date(clock().getTime() + AGAIN_MS * 4));
}
