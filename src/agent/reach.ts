import type { Logger } from "pino";
import { backoffOf } from "./backoff";
import type { Pass } from "./pass";

/** What the agent knows of the way to its server: whether it was ever there, and for how long it is left alone. */
export function createReach(server: string, interval: number, log: Logger) {
  let failures = 0;
  let isKnown = false;
  let offlineUntil = 0;
  let awaySince: number | undefined;

  /** Takes note of how a pass that asked the server ended; the server's return is a line in the log. */
  function note({ unreachable, isBroken = false }: Pass) {
    const now = performance.now();
    failures = unreachable ? failures + 1 : 0;
    isKnown ||= !unreachable;
    offlineUntil = unreachable ? now + backoffOf({ failures, interval, retryAfter: unreachable.retryAfter }) : 0;
    if (isBroken) return;
    if (awaySince !== undefined && !unreachable) log.info({ server, seconds: Math.round((now - awaySince) / 1_000) }, "the server is back");
    awaySince = unreachable && (awaySince ?? now);
  }

  function askAtOnce() {
    offlineUntil = 0;
  }

  return { note, askAtOnce, isOffline: () => performance.now() < offlineUntil, isKnown: () => isKnown };
}
