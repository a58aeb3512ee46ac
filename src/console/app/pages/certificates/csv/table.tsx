import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { Badge, type Tone } from "../../../parts/badge";
import { Card } from "../../../parts/facts";
import { save } from "../../../parts/save";
import { type Column, DataTable } from "../../../parts/table";
import { wholeList } from "../../../reading";
import { link } from "../../../router";
import { type Import, type ImportRow, remainder, type State } from "./progress";

type Props = { of: Import; onSend: () => Promise<void>; onStop: () => void; onAgain: () => void };

/** Problems that are shown in full above the table. */
const SHOWN = 10;

/** The rows, each with its problem; then how far the import is, and what is left. */
export function RowsTable({ of: whole, onSend, onStop, onAgain }: Props) {
  const isSending = useSignal(false);
  const from = useMemo(() => wholeList(whole.rows), [whole]);
  async function send() {
    isSending.value = true;
    await onSend();
    isSending.value = false;
  }
  const counts = whole.counts.value;
  const left = whole.rows.length - counts.new - counts.known;
  return (
    <>
      <Card title="Rows">
        <Progress of={counts} isSending={isSending.value} />
        <Problems of={whole.faulty.value} />
        <div class="dialog-actions">
          <button type="button" onClick={isSending.value ? onStop : onAgain}>
            {isSending.value ? "Stop" : "Another file"}
          </button>
          {left > 0 && !isSending.value && (
            <button type="button" onClick={() => save(new Blob([remainder(whole)], { type: "text/csv;charset=utf-8" }), "not-imported.csv")}>
              Save what is not imported
            </button>
          )}
          {counts.ready > 0 && !isSending.value && (
            <button type="button" class="primary" onClick={() => void send()}>
              Import {counts.ready === 1 ? "1 row" : `${counts.ready.toLocaleString()} rows`}
            </button>
          )}
        </div>
      </Card>
      <DataTable label="Rows of the file" columns={COLUMNS} from={from} id={({ number }) => String(number)} empty={null} />
    </>
  );
}

const COLUMNS: Column<ImportRow>[] = [
  { label: "Row", cell: ({ number }) => number.toLocaleString() },
  { label: "Result", cell: (row) => <Result of={row} /> },
  { label: "Certificate", cell: (row) => <CertificateLink of={row} /> },
  { label: "Labels", cell: (row) => describeLabels(row) },
  { label: "Notes", cell: (row) => ("entry" in row && row.entry.notes) || <span class="none">none</span> },
];
const STATES: Record<State, [Tone, string]> = {
  ready: ["info", "ready"],
  problem: ["bad", "not sent"],
  sending: ["info", "on its way"],
  new: ["good", "new"],
  known: ["calm", "known before"],
  refused: ["bad", "refused"],
};

function Result({ of }: { of: ImportRow }) {
  const { state, problem = "" } = of.outcome.value;
  const [tone, text] = STATES[state];
  return (
    <span title={problem}>
      <Badge tone={tone} text={text} /> {problem}
    </span>
  );
}

function CertificateLink({ of }: { of: ImportRow }) {
  const { id, name } = of.outcome.value;
  return id === undefined ? <span class="none">not yet</span> : <a href={link(`certificates/${id}`)}>{name || "Its page"}</a>;
}

function describeLabels(row: ImportRow) {
  const labels = "entry" in row ? Object.entries(row.entry.labels ?? {}) : [];
  return labels.length === 0 ? <span class="none">none</span> : labels.map(([name, value]) => `${name}=${value}`).join(", ");
}

function Progress({ of: counts, isSending }: { of: Record<State, number>; isSending: boolean }) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return (
    <div class="progress" role="status">
      {isSending && <progress aria-label="Importing" max={total} value={total - counts.ready} />}
      <p class="fine">
        {counts.ready} ready, {counts.new} new, {counts.known} known before, {counts.refused} refused, {counts.problem} with problems.
      </p>
    </div>
  );
}

function Problems({ of: faulty }: { of: ImportRow[] }) {
  if (faulty.length === 0) return null;
  return (
    <ul class="results" aria-label="Problems">
      {faulty.slice(0, SHOWN).map(({ number, outcome }) => (
        <li key={number}>
          Row {number}: {outcome.value.problem}
        </li>
      ))}
      {faulty.length > SHOWN && <li>And {faulty.length - SHOWN} more: in the table, and in the file that you can save.</li>}
    </ul>
  );
}
