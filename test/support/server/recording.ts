import type { Pool, Sql } from "#db/connect";

/** A statement of a release with its parameters, and how many rows it gave or touched. */
type Step = { text: number; parameters: unknown[]; count: number };
/** The statements that a release sent to its database, in order, for one of each of its operations. */
export type Recording = { recordedAt: string; texts: string[]; steps: Step[] };

/** Ids that a database makes by itself, the same ones at each run. */
const NUMBERED_IDS = `
  create sequence numbered_ids;
  create or replace function new_id() returns uuid language sql volatile as
    $$ select ('01900000-0000-7000-8000-' || lpad(to_hex(nextval('public.numbered_ids')), 12, '0'))::uuid $$`;

export const numberIds = (sql: Pool) => sql.unsafe(NUMBERED_IDS);

const MOMENT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** The parameters as if they had been recorded `shift` ms later, so that nothing has expired meanwhile. */
function revive(value: unknown, shift: number): unknown {
  if (typeof value === "string") return value.replace(MOMENT, (moment) => new Date(Date.parse(moment) + shift).toISOString());
  if (Array.isArray(value)) return value.map((each) => revive(each, shift));
  if (value !== null && typeof value === "object" && "base64" in value) return Buffer.from(String(value.base64), "base64");
  return value;
}

export type Outcome = { text: string; count: number } | { text: string; failure: string };

/** Runs all steps in one transaction, which is rolled back; a step that fails changes nothing. */
export async function replay(sql: Pool, { recordedAt, texts, steps }: Recording): Promise<Outcome[]> {
  const shift = Date.now() - Date.parse(recordedAt);
  const outcomes: Outcome[] = [];
  const isOver = new Error("the transaction is over");
  await sql
    .begin(async (tx) => {
      for (const { text, parameters } of steps)
        outcomes.push(
          await runStep(
            tx,
            texts[text] ?? "",
            parameters.map((each) => revive(each, shift)),
          ),
        );
      throw isOver;
    })
    .catch((error) => {
      if (error !== isOver) throw error;
    });
  return outcomes;
}

async function runStep(tx: Sql, text: string, parameters: unknown[]): Promise<Outcome> {
  await tx`savepoint step`;
  try {
    return { text, count: (await tx.unsafe(text, parameters as string[])).count ?? 0 };
  } catch (error) {
    await tx`rollback to step`;
    return { text, failure: (error as Error).message };
  }
}
