import { hostname, networkInterfaces } from "node:os";
import { join, normalize } from "node:path";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import type { Host } from "../host/host";
import { findUser } from "../host/user";
import type { Demand } from "./demands";
import { leadsTo, seenFrom } from "./links";
import { isWithin } from "./paths";
import { OWN_PLACES, type PathDemand } from "./places";
import type { Facts, Seen } from "./rules";

/** Returns the demands as this host sees them: each path by where its links lead. Reads only. */
export async function seeDemands(demands: readonly Demand[], storeType: TrustStoreType | undefined, host: Host): Promise<Seen[]> {
  const ownOf = storeType !== undefined && storeType in OWN_PLACES ? OWN_PLACES[storeType as keyof typeof OWN_PLACES] : undefined;
  const { directories = [], files = [] } = demands.some((each) => "path" in each) ? (ownOf?.(host) ?? {}) : {};
  const [ownDirectories, ownFiles] = [directories.flatMap(seenFrom), files.flatMap(seenFrom)];
  const seen: Seen[] = [];
  for (const each of demands) {
    if ("path" in each) {
      const { real, ...found } = await locate(each, host);
      seen.push({ ...each, ...found, real, isOwn: ownFiles.includes(real) || ownDirectories.some((own) => isWithin(real, own)) });
    } else seen.push(each);
  }
  return seen;
}

/** A path and where it leads; where that cannot be said, the path itself, and why. */
async function locate({ path: given, account }: PathDemand, host: Host) {
  let path = normalize(given);
  try {
    if (account !== undefined) path = join((await findUser(host, account)).home, given.slice(2));
    return { path, real: leadsTo(path) };
  } catch (error) {
    return { path, real: path, fault: error as Error };
  }
}

/** Returns what the rules need to know of this host. */
export const factsOf = (): Facts => ({
  ownNames: [hostname(), ...Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])],
});
