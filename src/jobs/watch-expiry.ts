import type { Deps } from "#deps";
import { watchExpiry } from "#modules/certificates/expiry/services/watch";
import { repeat } from "./repeat";

const INTERVAL_MS = 20_000;

/** Watches the expiry of certificates, at once and every twenty seconds; servers share the work. Returns a function that stops it and waits for the running transaction. */
export const keepExpiryWatch = (deps: Pick<Deps, "sql" | "log" | "clock">) =>
  repeat(
    INTERVAL_MS,
    (signal) =>
      watchExpiry(deps, signal).catch((err) => deps.log.warn({ err }, "the expiry of certificates could not be watched; the next try is in 20 seconds")),
    { isAtOnce: true },
  );
