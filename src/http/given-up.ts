import type { Config } from "#config";

/** Of the time of a request: the rest is left for what is done after the work, and for the answer. */
const SHARE = 0.9;

/** Returns a signal for work that a request waits for: it ends once the client has gone away, or little time is left to answer. */
export const untilGivenUp = ({ signal }: Request, { requestTimeout }: Pick<Config, "requestTimeout">) =>
  AbortSignal.any([signal, AbortSignal.timeout(requestTimeout * SHARE)]);
