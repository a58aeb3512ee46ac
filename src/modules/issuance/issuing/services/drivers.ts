import type { Config } from "#config";
import type { Stamps } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import type { Driver } from "../rules/driver";

/** The parts of a server that issuing uses. They are a type of their own, because a server's `Deps` are made of the drivers. */
export type IssuingDeps = { sql: Pool; config: Config; stamps: Stamps; clock: () => Date };

/** The drivers that have certificates issued, by the kind of issuer. */
export type Drivers = { [kind in string]?: (deps: IssuingDeps) => Driver };

const made = new WeakMap<IssuingDeps, Map<string, Driver>>();

/** Returns the driver of a kind, one for each server; undefined where there is none. */
export function driverOf(deps: IssuingDeps & { drivers: Drivers }, kind: string): Driver | undefined {
  const make = deps.drivers[kind];
  return make && made.getOrInsertComputed(deps, () => new Map()).getOrInsertComputed(kind, () => make(deps));
}
