import type { Logger } from "pino";
import { backoffOf, hurriedInterval, pauseOf } from "./backoff";
import type { Pass } from "./pass";

/** The agent's view of its server: was it ever reached, how long is it left alone, and when is it asked next. */
export function createReach(server: string, interval: number, log: Logger) {
  let failures = 0;
  let isKnown = false;
  let offlineUntil = 0;
  let awaySince: number | undefined;
  let newsAt = 0;
  let isAwaited = false;

  /** Takes note of how a pass that asked the server ended; the server's return is a line in the log. */
  function note({ unreachable, isBroken = false, isAwaiting = false, isNews = false }: Pass) {
    const now = performance.now();
    isAwaited = isAwaiting;
    if (isNews) newsAt = now;
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

  /** Milliseconds to the next pass. */
  const pause = () => pauseOf(isAwaited ? hurriedInterval(interval, performance.now() - newsAt) : interval);

  return { note, pause, askAtOnce, isOffline: () => performance.now() < offlineUntil, isKnown: () => isKnown };
}
