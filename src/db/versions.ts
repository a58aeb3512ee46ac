import { arrayOf, type Fragment, type Sql } from "./connect";

/** The versions that a caller accepts, none of them where the list is empty; undefined accepts any. */
export type Versions = number[] | undefined;

export const matchesVersion = (versions: Versions, version: number) => versions === undefined || versions.includes(version);

/** The same as a condition in SQL on the column `version`. */
export const whereVersion = (sql: Sql, versions: Versions, version: Fragment = sql`version`) =>
  sql`coalesce(${version} = any(${versions ? arrayOf(versions.map(String)) : null}::int[]), true)`;
