import { lstatSync, realpathSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { basename, dirname, join, normalize } from "node:path";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { inWords } from "../host/files";
import type { Host } from "../host/host";
import { findUser } from "../host/user";
import type { Demand } from "./demands";
import { isWithin } from "./paths";
import { OWN_PLACES } from "./places";
import type { Facts, Seen } from "./rules";

/** Returns the demands as this host sees them: each path by where its links lead. Reads only. */
export async function seeDemands(demands: readonly Demand[], storeType: TrustStoreType | undefined, host: Host): Promise<Seen[]> {
  const ownOf = storeType !== undefined && storeType in OWN_PLACES ? OWN_PLACES[storeType as keyof typeof OWN_PLACES] : undefined;
  const { directories = [], files = [] } = demands.some((each) => "path" in each) ? (ownOf?.(host) ?? {}) : {};
  const [ownDirectories, ownFiles] = [directories.flatMap(seenFrom), files.flatMap(seenFrom)];
  const seen: Seen[] = [];
  for (const each of demands) {
    if ("path" in each) {
      const path = each.account === undefined ? normalize(each.path) : join((await findUser(host, each.account)).home, each.path.slice(2));
      const real = leadsTo(path);
      seen.push({ ...each, path, real, isOwn: ownFiles.includes(real) || ownDirectories.some((own) => isWithin(real, own)) });
    } else seen.push(each);
  }
  return seen;
}

/** The path without links; none where the agent may not look, for nothing leads there. */
function seenFrom(path: string): string[] {
  try {
    return [leadsTo(path)];
  } catch {
    return [];
  }
}

/** Returns the path without links; what does not exist yet is taken as it stands. Synchronous: fifty assignments are judged at every pass. */
function leadsTo(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return inWords(path, "read")(error as Error);
  }
  if (isLink(path)) throw new Error(`${path} is a link that leads nowhere. Remove it, or name another place.`);
  return join(leadsTo(dirname(path)), basename(path));
}

function isLink(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  } catch {
    return false; // a path that cannot be looked at is told of by its parent
  }
}

/** Returns what the rules need to know of this host. */
export const factsOf = (): Facts => ({
  ownNames: [hostname(), ...Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])],
});
