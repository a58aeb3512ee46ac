import type { Revoked } from "#modules/issuance/issuing/rules/driver";
import { waitAfter } from "#modules/issuance/requests/rules/next";

type Failed = Exclude<Revoked, { to: "revoked" }>;
type Failing = { attempts: number; failingSince: string | null };

/** The time until a CA is asked again that has refused: by then a person may have changed something. */
const REFUSED_MS = 86_400_000;
/** The time after which a fault that may pass is worth an event. */
const PATIENCE_MS = 15 * 60_000;

/**
 * Returns when the CA is asked again: what may pass after 30, 60, 120 … seconds, an hour at last; a refusal a day later. `chance` is from 0
 * to 1.
 */
export function againAfter({ attempts }: Failing, failed: Failed, now: Date, chance: number) {
  const leastMs = failed.to === "retry" ? failed.at.getTime() - now.getTime() : REFUSED_MS;
  return new Date(now.getTime() + waitAfter(attempts + 1, leastMs, chance));
}

/** Returns whether members are notified that the CA does not revoke a certificate. */
export const isWorthEvent = ({ failingSince }: Failing, { to }: Failed, now: Date) =>
  to === "failed" || (failingSince !== null && now.getTime() - Date.parse(failingSince) > PATIENCE_MS);
