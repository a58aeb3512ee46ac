import type { ChallengeType } from "./settings";

/** The account of an issuer. `thumbprint` is that of its key, `contact` the one that the CA has. */
export type Account = { directoryUrl: string; url: string; thumbprint: string; contact: string[] };

/** How control of one name is proven. */
export type Proof = {
  /** As the order names it, without the `*.` of a wildcard. */
  name: string;
  type: ChallengeType;
  /** Which of the issuer's challenges it is, or that the request's agent shows it. */
  challenge: number | "host";
  challengeUrl: string;
  token: string;
  /** The name at which it is presented, where a CNAME leads there; undefined where that is the name itself. */
  target?: string | undefined;
  /** Of the account key, so that what was presented can be taken away after the key has changed. */
  thumbprint: string;
  /** `told` once the challenge was answered, as rows of earlier releases have it. */
  state: "planned" | "presented" | "told";
};

/** An order that the CA has. */
export type Ordered = {
  stage: "ordered";
  since: string;
  orderUrl: string;
  /** The account of the order: no other account of the issuer can do anything with it. */
  accountUrl: string;
  /** Undefined until every authorization was read. */
  proofs?: Proof[];
  /** Since when one that was presented cannot be seen. */
  hiddenSince?: string;
  /** The server that answered the challenges; undefined where that was one that was killed in it. */
  lookedBy?: string | undefined;
  /** The CA was, or is about to be, asked to issue. */
  isFinalizing?: boolean;
  /** How often the CA was asked since it last had something to do. */
  polls: number;
  /** How often an order was made again, because a server was restarted while the CA validated its proofs. */
  restarts?: number;
};

/** The progress of a request. `ordering` is kept before an order is made. */
export type Progress = { stage: "ordering"; since: string; withoutReplaces?: boolean; restarts?: number } | Ordered;

/** Returns the progress as it was kept; undefined before the first step, and after an order was given up for another. */
export function readProgress(kept: unknown): Progress | undefined {
  const progress = kept as Partial<Progress> | null | undefined;
  return progress?.stage ? (progress as Progress) : undefined;
}

/** Progress of a request that begins again, without what it had presented. */
export const AFRESH = {};

/** True where this progress leaves what was presented before behind. */
export const beginsAfresh = (progress: object | undefined) => progress !== undefined && readProgress(progress)?.stage !== "ordered";
