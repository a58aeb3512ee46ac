import { t } from "elysia";
import { Answer, DateTime, Nullable, OneOf } from "#http/schema";

/**
 * States of a report. `refused`: the policy of the host does not permit it; `kept`: it was to be removed, but the store's
 * reader trusts it still.
 */
export const STATES = ["installed", "failed", "drifted", "removed", "refused", "kept"] as const;

/** A report of an agent on an assignment. */
export const EXAMPLE_REPORT = {
  state: "installed",
  observedFingerprint: "58cff3b6fb4fa64d65a8806e86a7039a632a5f78a23b71b8db1e8475b3f7bcd7",
  message: null,
  reportedAt: "2026-01-02T09:31:00.000Z",
  observedAt: "2026-01-02T09:30:58.412Z",
};

/** The report's own time, beside that of its receipt. */
export const ObservedAt = Nullable({ ...DateTime, description: "When the agent saw it so, by the clock of its host; null where the agent reported no time" });

export const KeptReport = Answer(
  {
    state: OneOf(STATES, { description: "What is so on the host; kept: the store trusts it still" }),
    observedFingerprint: Nullable(t.String({ description: "SHA-256 of the certificate that was found, lower-case hexadecimal" })),
    message: Nullable(t.String({ description: "What the agent says of it, such as why it failed" })),
    reportedAt: { ...DateTime, description: "When the server received it" },
    observedAt: ObservedAt,
  },
  { title: "KeptReport", description: "What the agent reported; null: nothing yet", examples: [EXAMPLE_REPORT] },
);
