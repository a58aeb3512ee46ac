import { lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { inWords } from "../host/files";

/** Returns the path without links; none where the agent may not look. */
export function seenFrom(path: string): string[] {
  try {
    return [leadsTo(path)];
  } catch {
    return [];
  }
}

/**
 * Returns the path without links; what does not exist yet is taken as it stands. Synchronous: fifty assignments are judged at
 * every pass.
 */
export function leadsTo(path: string): string {
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
    return false; // a path that cannot be read is reported by its parent
  }
}
