import type { Deps } from "#deps";
import { acmeDriver } from "#modules/issuance/acme/services/keep";
import { createInternalDriver } from "#modules/issuance/authorities/services/driver";
import type { IssuerKind } from "#modules/issuance/issuers/rules/kinds";
import type { Driver } from "../rules/driver";

/** What has certificates issued, by the kind of issuer. */
export type Drivers = Partial<Record<IssuerKind, (deps: Deps) => Driver>>;
const DRIVERS: Drivers = { acme: acmeDriver, internal: createInternalDriver };

const made = new WeakMap<Deps, Map<unknown, Driver>>();

/** Returns the driver of a kind, one for each server; undefined where there is none. */
export function driverOf(deps: Deps, kind: IssuerKind, drivers = DRIVERS): Driver | undefined {
  const make = drivers[kind];
  return make && made.getOrInsertComputed(deps, () => new Map()).getOrInsertComputed(make, () => make(deps));
}
