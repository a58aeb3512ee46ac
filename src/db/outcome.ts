import type { Pool, Sql } from "./connect";
import { matchesVersion, type Versions } from "./versions";

/** The row that a request names, and the versions of it that its caller accepts. */
export type Target = { id: string; versions: Versions };

/** A row as an answer shows it: `json` is the whole body. */
export type Resource = { json: string; version: number };

/**
 * Why a request changed nothing. `not found`: there is no such target. `stale`: its version is none of the accepted ones. `conflict`: its
 * state, or another row, does not allow it. `missing` and `invalid` are sentences for a person: what the body names is not there, or the
 * body does not suit what is stored.
 */
export type Failure = "not found" | "stale" | "conflict" | { missing: string } | { invalid: string };

/**
 * Changes a row by a rule in TypeScript, in one transaction. `lock` reads the row and locks it until the end; `change` sees it only when its
 * version is accepted.
 */
export const updateLocked = <Row extends { version: number }, Outcome>(
  sql: Pool,
  versions: Versions,
  lock: (tx: Sql) => Promise<Row | undefined>,
  change: (tx: Sql, row: Row) => Promise<Outcome>,
) =>
  sql.begin(async (tx): Promise<Outcome | "not found" | "stale"> => {
    const row = await lock(tx);
    if (!row) return "not found";
    return matchesVersion(versions, row.version) ? change(tx, row) : "stale";
  });
