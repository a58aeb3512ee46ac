import { t } from "elysia";
import { Answer, DateTime, Nullable, OneOf } from "#http/schema";
import { EXAMPLE_REPORT } from "#modules/certificates/certificates/schema/example";

export const STATES = ["installed", "failed", "drifted", "removed"] as const;

/** What an agent said of an assignment, and when. */
export const KeptReport = Answer(
  {
    state: OneOf(STATES),
    observedFingerprint: Nullable(t.String({ description: "SHA-256 of the certificate that was found, lower-case hexadecimal" })),
    message: Nullable(t.String()),
    reportedAt: DateTime,
  },
  { title: "KeptReport", examples: [EXAMPLE_REPORT] },
);
