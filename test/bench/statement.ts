import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { createPool, type Sql } from "#db/sql";

/** A statement as it goes over the wire. */
export type Statement = { text: string; parameters: (string | number)[] };

/** The one statement that a query sends. */
export async function capture(url: string, query: (sql: Sql) => Promise<unknown>): Promise<Statement> {
  const seen: Statement[] = [];
  const sql = postgres(url, { max: 1, fetch_types: false, debug: (_, text, parameters) => void seen.push({ text, parameters }) });
  drizzle(sql); // as in connectDatabase: JSON goes over the wire as it is written
  if (!(await query(createPool(sql)))) throw new Error("a measured query found nothing");
  await sql.end();
  const [statement] = seen;
  if (!statement || seen.length !== 1) throw new Error(`a measured query sent ${seen.length} statements`);
  return statement;
}

/** What Postgres settles on after a few executions: does it plan once for all, what does it scan, how long does it take? */
export async function explain(url: string, { text, parameters }: Statement) {
  const sql = postgres(url, { max: 1 });
  const execute = `execute measured(${parameters.map((value) => `'${value}'`).join(", ")})`;
  await sql.unsafe(`prepare measured as ${text}`);
  for (let turn = 0; turn < 6; turn++) await sql.unsafe(execute);
  const lines = (await sql.unsafe(`explain (analyze, buffers, costs off) ${execute}`)).map((each) => String(each["QUERY PLAN"]).replace("->", "").trim());
  await sql.end();
  const planned = lines.some((line) => /Cond: .*\$\d/.test(line)) ? "planned once" : "planned again each time";
  const facts = lines.filter((line) => /^(Index|Seq|Bitmap).* Scan|^(Planning|Execution) Time|^Heap Fetches/.test(line));
  return [planned, lines.find((line) => line.startsWith("Buffers")), ...facts].join("\n  ");
}
