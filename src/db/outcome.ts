import { matchesVersion, type Versions } from "./versions";

/** The row that a request names, and the versions of it that its caller accepts. */
export type Target = { id: string; versions: Versions };

/** A row as an answer shows it: `json` is the whole body. */
export type Resource = { json: string; version: number };

/** The same with the id, for its audit event or its place in a list. */
export type IdentifiedResource = Resource & { id: string };

/**
 * Why a request changed nothing: an unknown target, another version (`stale`), a state that forbids it (`conflict`). The rest
 * are sentences: a named thing is missing, wrong or in the way.
 */
export type Failure = "not found" | "stale" | "conflict" | { missing: string } | { invalid: string } | { inTheWay: string };

/**
 * Changes a row by a rule in TypeScript: `row` is read and locked in the transaction of `change`, which sees it only in an
 * accepted version.
 */
export async function updateLocked<Row extends { version: number }, Outcome>(
  row: Row | undefined,
  versions: Versions,
  change: (row: Row) => Outcome | Promise<Outcome>,
): Promise<Outcome | "not found" | "stale"> {
  if (!row) return "not found";
  return matchesVersion(versions, row.version) ? change(row) : "stale";
}
