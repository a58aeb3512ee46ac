import { FROM_SOURCES } from "./certitude";
import type { Settings } from "./simulate";

/** A minute and a half: each name is renewed once, early enough for a slow machine, while all kinds of harm are done; then its first certificate expires. */
export const SHORT: Settings = {
  seed: 1,
  program: FROM_SOURCES,
  names: { nginx: 3, haproxy: 3, postgres: 1, java: 1 },
  lifetimeSeconds: 75,
  firstRenewalSeconds: 20,
  intervalSeconds: 2,
  spreadSeconds: 1,
  seconds: 0,
  disruptions: { kills: [22], outages: [{ at: 24, seconds: 6 }], fullDisk: { at: 18, seconds: 8 }, clock: { at: 15, seconds: 30, ahead: 172_800 } },
};
