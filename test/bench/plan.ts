import { drizzle } from "drizzle-orm/postgres-js";
import postgres from "postgres";
import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { createPool } from "#db/sql";
import { median } from "./measure";

const TURNS = 7;
const CONTROL = /^\s*(begin|commit|rollback|savepoint|release)/i;

type Captured = { text: string; parameters: unknown[] };
type Step = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks": number;
  "Shared Read Blocks": number;
  Plans?: Step[];
};

/** In milliseconds; the most rows that a step of a plan read, and the pages of all; what was read by which index, or whole. */
export type Cost = { ms: number; rows: number; pages: number; reads: string[] };

/**
 * Returns what the statements of `work` cost together, as Postgres plans them after some calls. All of it is rolled back. `work` has a pool of one
 * transaction.
 */
export async function measurePlans(url: string, work: (sql: Pool) => Promise<unknown>): Promise<Cost> {
  const statements = await captureAll(url, work);
  const { $client: sql } = connectDatabase(url, MAINTENANCE);
  for (const [n, { text }] of statements.entries()) await sql.unsafe(`prepare measured_${n} as ${text}`);
  const turns: { ms: number; steps: Step[] }[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await sql.unsafe("begin");
    const plans = [];
    for (const [n, { parameters }] of statements.entries()) plans.push(await explain(sql, `measured_${n}`, parameters));
    await sql.unsafe("rollback");
    turns.push({ ms: plans.reduce((sum, each) => sum + each.ms, 0), steps: plans.map((each) => each.plan) });
  }
  await sql.end();
  const roots = turns.at(-1)?.steps ?? [];
  const steps = roots.flatMap(stepsOf);
  return {
    ms: median(turns.map(({ ms }) => ms)),
    rows: Math.max(...steps.map(rowsOf)),
    pages: roots.reduce((sum, each) => sum + each["Shared Hit Blocks"] + each["Shared Read Blocks"], 0),
    reads: [...new Set(steps.flatMap(readOf))],
  };
}

/** The statements that `work` sends, with their parameters, in a transaction that is rolled back. */
async function captureAll(url: string, work: (sql: Pool) => Promise<unknown>) {
  const seen: Captured[] = [];
  const client = postgres(url, { max: 1, fetch_types: false, onnotice: () => {}, debug: (_, text, parameters) => void seen.push({ text, parameters }) });
  drizzle(client); // as in connectDatabase: JSON goes over the wire as it is written
  const done = new Error("what was captured is rolled back");
  const inOne = (tx: Pool): Pool => Object.assign(tx, { begin: <Result>(nested: (tx: Pool) => Promise<Result>) => nested(tx) });
  await createPool(client)
    .begin(async (tx) => {
      await work(inOne(tx as Pool));
      throw done;
    })
    .catch((error) => {
      if (error !== done) throw error;
    });
  await client.end();
  return seen.filter(({ text }) => !CONTROL.test(text));
}

async function explain(sql: Pool, name: string, parameters: unknown[]): Promise<{ ms: number; plan: Step }> {
  const values = parameters.length > 0 ? `(${parameters.map(literal).join(", ")})` : "";
  const [row] = await sql.unsafe(`explain (analyze, buffers, timing off, format json) execute ${name}${values}`);
  const [{ Plan: plan, "Execution Time": ms }] = row?.["QUERY PLAN"] ?? [];
  return { ms, plan };
}

function literal(value: unknown) {
  if (value === null) return "null";
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString("hex")}'`;
  return `'${String(value).replaceAll("'", "''")}'`;
}

const stepsOf = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)];

const rowsOf = (step: Step) =>
  (step["Actual Rows"] + (step["Rows Removed by Filter"] ?? 0) + (step["Rows Removed by Index Recheck"] ?? 0)) * step["Actual Loops"];

/** Whatever is read whole below this is small. */
const FEW = 1_000;

function readOf(step: Step) {
  if (step["Index Name"]) return step["Index Name"];
  return step["Node Type"] === "Seq Scan" && rowsOf(step) > FEW ? `all of ${step["Relation Name"]}` : [];
}
