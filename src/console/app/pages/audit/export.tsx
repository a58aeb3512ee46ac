import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { inOrganization } from "../../api";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { save } from "../../parts/save";
import { Time } from "../../parts/time";
import { toast } from "../../parts/toast";
import { pagesOf } from "../../reading";
import { CSV_HEADER, toCsv, toJsonLine } from "./formats";

type Query = Record<string, string | undefined>;
type Progress = { count: number; back: string | null };

const FORMATS = {
  csv: { label: "CSV, for a spreadsheet", header: CSV_HEADER, toLine: toCsv, extension: "csv", type: "text/csv;charset=utf-8" },
  jsonl: { label: "JSON lines, for a program", header: "", toLine: toJsonLine, extension: "jsonl", type: "application/jsonl" },
} as const;

/** Reads every event that the filters let through, page by page, and gives the browser a file of them. */
export function ExportDialog({ query, onClose }: { query: Query; onClose: () => void }) {
  const progress = useSignal<Progress | undefined>(undefined);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  async function run({ format }: Values) {
    const { header, toLine, extension, type } = FORMATS[format === "jsonl" ? "jsonl" : "csv"];
    progress.value = { count: 0, back: null };
    const parts = [header];
    for await (const events of pagesOf(inOrganization("audit-events"), query)) {
      if (ending.current.signal.aborted) return;
      parts.push(events.map(toLine).join(""));
      progress.value = { count: progress.value.count + events.length, back: events.at(-1)?.at ?? progress.value.back };
    }
    save(new Blob(parts, { type }), `audit-${new Date().toISOString().slice(0, 10)}.${extension}`);
    toast(`${progress.value.count.toLocaleString()} events were exported.`);
    onClose();
  }
  return (
    <Dialog title="Export the audit trail" onClose={onClose}>
      <p class="fine dialog-hint">Every event that the filters let through, with all its details.</p>
      <Form
        fields={[{ name: "format", label: "Format", kind: "select", required: true, options: Object.keys(FORMATS), labels: LABELS }]}
        values={{ format: "csv" }}
        submit="Export"
        onSubmit={run}
        onCancel={onClose}
      >
        {progress.value && (
          <div class="progress" role="status">
            <progress aria-label="Reading the events" />
            <p class="fine">
              {progress.value.count.toLocaleString()} events read
              {progress.value.back && (
                <>
                  , back to <Time at={progress.value.back} />
                </>
              )}
            </p>
          </div>
        )}
      </Form>
    </Dialog>
  );
}

const LABELS = Object.fromEntries(Object.entries(FORMATS).map(([name, { label }]) => [name, label]));
