import type { Sql } from "./sql";

/** The settings that decide the meaning of results: each session sets them, whatever the database, the role or the environment say. */
const MEANING = {
  search_path: "public",
  default_transaction_isolation: "read committed",
  bytea_output: "hex",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  TimeZone: "UTC",
  standard_conforming_strings: "on",
  extra_float_digits: "1",
};
/** A process that stands still in a transaction holds its locks no longer than this; milliseconds. */
const IDLE_TRANSACTION_MS = 30_000;

/**
 * The parameters of a session; `statementTimeout` is in ms, and 0 means that it may take what it needs.
 * `default_transaction_read_only` is left alone: operators and providers close a database with it.
 */
export const sessionParameters = (statementTimeout: number): Record<string, string> => ({
  ...MEANING,
  jit: "off", // its compiling takes longer than our statements
  statement_timeout: `${statementTimeout}`,
  lock_timeout: "0",
  idle_in_transaction_session_timeout: `${statementTimeout === 0 ? 0 : IDLE_TRANSACTION_MS}`,
  idle_session_timeout: "0",
});

/** Names what this session lacks: a pooler in front of Postgres may have dropped it. */
export async function missingParameters(sql: Sql) {
  const rows = await sql<{ name: string }[]>`
    select name from jsonb_each_text(${JSON.stringify(MEANING)}::text::jsonb) as wished (name, value) where current_setting(name) <> value order by name`;
  return rows.map(({ name }) => `${name} = '${MEANING[name as keyof typeof MEANING]}'`);
}
