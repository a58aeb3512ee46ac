import type { Faulted, Name } from "#modules/issuance/issuing/rules/driver";
import { Fault, Problem, Unusable } from "./problems";
import { AFRESH } from "./progress";

/** How long an issuer rests whose CA is away, and one whose rate is limited, where the CA does not say. */
const AWAY_MS = 15_000;
const RATE_LIMIT_MS = 3_600_000;
const PASSING = ["badNonce", "serverInternal", "orderNotReady"];

/** Returns what an error means for what was asked for these names; what is no fault of a CA or a proof is thrown. */
export function stepOf(error: unknown, names: Name[], now: Date): Faulted {
  if (!(error instanceof Problem) && !(error instanceof Fault)) throw error;
  const { message, retryAfterMs } = error;
  const retry = (waitMs: number, ofIssuer: boolean): Faulted => ({ to: "retry", at: new Date(now.getTime() + waitMs), reason: message, ofIssuer });
  if (error instanceof Fault) return error.isFinal ? { to: "failed", reason: message } : retry(retryAfterMs ?? AWAY_MS, error instanceof Unusable);
  if (error.type === "accountDoesNotExist") return { ...retry(0, false), progress: AFRESH } as Faulted;
  if (error.type === "rateLimited" || error.status === 429) return retry(retryAfterMs ?? RATE_LIMIT_MS, !isAboutNames(error, names));
  if (PASSING.includes(error.type)) return retry(retryAfterMs ?? 0, retryAfterMs !== undefined);
  if (error.status >= 500) return retry(retryAfterMs ?? AWAY_MS, true);
  if (isOfEndedAccount(error)) return { to: "failed", reason: `${message} Give the issuer another account key.` };
  return { to: "failed", reason: message };
}

/** True where a limit names a domain of the request, or its set of names: others of the issuer go on. */
function isAboutNames({ facts: { detail } }: Problem, names: Name[]) {
  const quoted = [...detail.matchAll(/["“]([^"“”]+)["”]/g)].map(([, domain = ""]) => domain.toLowerCase());
  return /exact set/i.test(detail) || quoted.some((domain) => names.some(({ value }) => value === domain || value.endsWith(`.${domain}`)));
}

/** A refusal of an account that was ended: CAs have no type for it, and word it like this. */
const isOfEndedAccount = ({ type, facts }: Problem) => type === "unauthorized" && /deactivated|revoked/i.test(facts.detail);
