import { t } from "elysia";
import { Answer, DateTime, Nullable, OneOf } from "../../http/schema";
import { EXAMPLE_SUMMARY } from "../certificates/example";

export const STATES = ["installed", "failed", "drifted", "removed"] as const;

/** What an agent said of an assignment, and when. */
export const KeptReport = Answer(
  {
    state: OneOf(STATES),
    observedFingerprint: Nullable(t.String({ description: "SHA-256 of the certificate that was found, lower-case hexadecimal" })),
    message: Nullable(t.String()),
    reportedAt: DateTime,
  },
  {
    title: "KeptReport",
    examples: [{ state: "installed", observedFingerprint: EXAMPLE_SUMMARY.fingerprintSha256, message: null, reportedAt: "2026-01-02T09:31:00.000Z" }],
  },
);
