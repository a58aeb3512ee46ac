import type { Deps } from "#deps";
import type { Driver } from "../rules/driver";

/** The drivers that have certificates issued, by the kind of issuer. */
export type Drivers = { [kind in string]?: (deps: Deps) => Driver };

const made = new WeakMap<Deps, Map<unknown, Driver>>();

/** Returns the driver of a kind, one for each server; undefined where there is none. */
export function driverOf(deps: Deps, kind: string, drivers = deps.drivers): Driver | undefined {
  const make = drivers[kind];
  return make && made.getOrInsertComputed(deps, () => new Map()).getOrInsertComputed(make, () => make(deps));
}
