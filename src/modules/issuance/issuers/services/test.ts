import type { Deps } from "#deps";
import { driverOf } from "#modules/issuance/issuing/services/drivers";
import type { StoredIssuer } from "../queries/issuers";
import { openIssuer } from "./secrets";

/** Below the five seconds that a request may take, so that the outcome can still be kept and answered. */
const LIMIT_MS = 4_000;

/** Asks whether the issuer would issue. */
export async function testIssuer(deps: Deps, stored: StoredIssuer) {
  const failed = (message: string) => ({ outcome: "failed" as const, message });
  const driver = driverOf(deps, stored.kind);
  if (!driver) return failed(`This server has no certificates issued by the kind ${stored.kind}.`);
  const issuer = openIssuer(deps, stored);
  if ("fault" in issuer) return failed(issuer.fault);
  const test = async () => {
    const signal = AbortSignal.timeout(LIMIT_MS);
    try {
      return await driver.test(issuer, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return failed(`It did not answer within ${LIMIT_MS / 1_000} seconds.`);
    }
  };
  return stored.kind === "internal" ? test() : deps.callLanes.run(stored.organizationId, test); // an authority of our own is not called
}
