import postgres from "postgres";

export type Parameter = string | number | boolean | null;
/** What one request sends to the database, with marks in the places that another request would fill otherwise. */
export type Work = { statements: { text: string; parameters: Parameter[] }[]; isTransaction: boolean; spread: number };

/** Stands for one of so many seeded things: the first of them, whose id ends in it. */
export const THING = "100000000000";
/** Stands for a value that no other request has. */
export const VALUE = "999999999999";
/** Stands for the version that a row happens to have. */
export const ANY_VERSION = 77_777_777;

const FIRST = Number(THING);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SEEDED = "018f0000-0000-7000-8000-";

export const seededId = (ending: string) => SEEDED + ending;

const asIs = (type: number) => ({ to: type, from: [type], serialize: (text: string) => text, parse: (text: string): unknown => JSON.parse(text) });

/** A pool that sends JSON as the program does: as the text that it is already. */
export const open = (url: string, options: { max: number; debug?: Exclude<postgres.Options<Record<string, never>>["debug"], undefined> }) =>
  postgres(url, { ...options, fetch_types: false, types: { json: asIs(114), jsonb: asIs(3802) } }) as unknown as postgres.Sql;

/** Runs a query once and answers what it sent. */
export async function captureWork(url: string, spread: number, query: (sql: postgres.Sql) => Promise<unknown>): Promise<Work> {
  const seen: Work["statements"] = [];
  const sql = open(url, { max: 1, debug: (_, text, parameters) => void seen.push({ text, parameters: [...parameters] }) });
  await query(sql);
  await sql.end();
  const statements = seen.filter(({ text }) => !/^(begin|commit)/.test(text));
  return { isTransaction: statements.length < seen.length, spread, statements: statements.map(keepVersion) };
}

function keepVersion({ text, parameters }: Work["statements"][number]) {
  const at = parameters.indexOf(ANY_VERSION);
  if (at < 0) return { text, parameters };
  const kept = text.replace(new RegExp(`\\$${at + 1}\\b`), "controls.version");
  return { text: kept.replace(/\$(\d+)/g, (_, n) => `$${Number(n) > at + 1 ? Number(n) - 1 : n}`), parameters: parameters.toSpliced(at, 1) };
}

/** A row's own id, which the program makes for each request. */
const isFreshId = (value: Parameter) => typeof value === "string" && UUID.test(value) && !value.startsWith(SEEDED);
const isMarked = (value: Parameter): value is string => typeof value === "string" && (value.includes(THING) || value.includes(VALUE));

/** The same work for pgbench; parameters that differ by request are put together by Postgres. */
export function toPgbench({ statements, isTransaction, spread }: Work) {
  const definitions: string[] = [];
  const lines = statements.map(({ text, parameters }, statement) =>
    text.replace(/\$(\d+)/g, (_, n) => {
      const value = parameters[n - 1] ?? null;
      if (value === null) return "null";
      if (isFreshId(value)) return "new_id()";
      const name = `p${statement}_${n}`;
      definitions.push("-D", `${name}=${value}`);
      if (!isMarked(value)) return `:${name}`;
      const filled = `replace(replace(:${name}::text, '${THING}', :thing::text), '${VALUE}', :value::text)`;
      return UUID.test(value) ? `${filled}::uuid` : filled;
    }),
  );
  const random = [`\\set thing random(${FIRST}, ${FIRST + spread - 1})`, `\\set value random(${FIRST}, ${VALUE})`];
  const script = [...random, ...(isTransaction ? ["begin;"] : []), ...lines.map((line) => `${line};`), ...(isTransaction ? ["commit;"] : [])].join("\n");
  return { script, definitions };
}

/** The same work by postgres.js, and nothing else; answers the JSON of the last row. */
export function toPerform(sql: postgres.Sql, { statements, isTransaction, spread }: Work) {
  const random = (from: number, count: number) => String(from + Math.floor(Math.random() * count));
  const run = async (client: postgres.ISql) => {
    const thing = random(FIRST, spread);
    const fresh = random(FIRST, Number(VALUE) - FIRST);
    const fill = (value: Parameter) =>
      isMarked(value) ? value.replaceAll(THING, thing).replaceAll(VALUE, fresh) : isFreshId(value) ? Bun.randomUUIDv7() : value;
    let last: unknown[] = [];
    for (const { text, parameters } of statements) [last = []] = await client.unsafe(text, parameters.map(fill) as string[], { prepare: true }).values();
    return last;
  };
  return async () => {
    const last: unknown[] = await (isTransaction ? sql.begin(run) : run(sql));
    return last.find((each): each is string => typeof each === "string" && each.startsWith("{")) ?? JSON.stringify(last);
  };
}
