import { Refusal } from "./errors";

/** Returns what a decision came to. Throws 403 with the reason where the caller may not decide. */
export function unlessForbidden<Outcome>(outcome: Outcome | { forbidden: string }): Exclude<Outcome, { forbidden: string }> {
  if (typeof outcome === "object" && outcome !== null && "forbidden" in outcome) throw new Refusal(403, outcome.forbidden);
  return outcome as Exclude<Outcome, { forbidden: string }>;
}
