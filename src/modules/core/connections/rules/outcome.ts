/** What the test of a connection found out. */
export type Outcome = { outcome: "ok" | "failed" | "unsupported"; message: string };

export const ACCEPTED = "It accepted the credentials.";
export const ANSWERED = "It answers. Credentials are not part of this check.";
