import { type Signal, signal } from "@preact/signals";
import { toCsvLine } from "../../../parts/csv";
import { type CheckedRow, PROBLEM, type Table } from "./rows";

export type State = "ready" | "problem" | "sending" | "new" | "known" | "refused";
export type Outcome = { state: State; id?: string; name?: string; problem?: string };
export type ImportRow = CheckedRow & { outcome: Signal<Outcome> };
export type Import = { header: string[]; rows: ImportRow[]; counts: Signal<Record<State, number>>; faulty: Signal<ImportRow[]> };

/** The rows of a table with what becomes of each; the counts and problems of all are kept, not counted again. */
export function startImport({ header, rows }: Table): Import {
  const outcomeOf = (row: CheckedRow): Outcome => ("problem" in row ? { state: "problem", problem: row.problem } : { state: "ready" });
  const started = rows.map((row) => ({ ...row, outcome: signal(outcomeOf(row)) }));
  const faulty = started.filter((row) => "problem" in row);
  const counts = { ready: rows.length - faulty.length, problem: faulty.length, sending: 0, new: 0, known: 0, refused: 0 };
  return { header, rows: started, counts: signal(counts), faulty: signal(faulty) };
}

/** Notes what became of a row. */
export function settle({ counts, faulty }: Import, row: ImportRow, outcome: Outcome) {
  const before = row.outcome.value.state;
  row.outcome.value = outcome;
  counts.value = { ...counts.value, [before]: counts.value[before] - 1, [outcome.state]: counts.value[outcome.state] + 1 };
  if (outcome.problem !== undefined) faulty.value = [...faulty.value, row];
}

/** The rows that were not imported, as CSV, with the reason in a column of its own. */
export function remainder({ header, rows }: Import) {
  const kept = header.flatMap((name, index) => (name === PROBLEM ? [] : [index]));
  const left = rows.filter(({ outcome }) => !["new", "known"].includes(outcome.value.state));
  const lines = left.map(({ cells, outcome }) => toCsvLine([...kept.map((index) => cells[index] ?? ""), outcome.value.problem ?? ""]));
  return [toCsvLine([...kept.map((index) => header[index] ?? ""), PROBLEM]), ...lines].join("");
}
