/** The result of a connection's test. */
export type Outcome = { outcome: "ok" | "failed" | "unsupported"; message: string };

export const ACCEPTED = "It accepted the credentials.";
export const ANSWERED = "It answers. Credentials are not part of this check.";
