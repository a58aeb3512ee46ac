import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import type { Written } from "../../operations";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { toast, toastError } from "../../parts/toast";

type Report = Written<"POST", ["fleet-operations", "bulk-label-update"]>;
type Props = { onClose: () => void; onDone: () => void };

/** Labels of many agents at once: first what would change, then the change. */
export function BulkLabels({ onClose, onDone }: Props) {
  const preview = useSignal<{ change: Values; report: Report } | undefined>(undefined);
  const send = (change: Values, dryRun: boolean) => write("POST", inOrganization("fleet-operations", "bulk-label-update"), { body: { ...change, dryRun } });
  async function ask(change: Values) {
    preview.value = { change, report: await send(change, true) };
  }
  function change() {
    if (!preview.value) return;
    send(preview.value.change, false).then(({ updated }) => {
      toast(`Changed the labels of ${updated} ${updated === 1 ? "agent" : "agents"}.`);
      onClose();
      onDone();
    }, toastError);
  }
  return (
    <Dialog title="Change labels" onClose={onClose}>
      {preview.value ? (
        <Preview of={preview.value.report} onBack={() => (preview.value = undefined)} onChange={change} />
      ) : (
        <Form
          submit="Preview"
          onCancel={onClose}
          onSubmit={ask}
          fields={[
            { name: "selector", label: "Agents with all of these labels", kind: "pairs", required: true, placeholder: "env=prod" },
            { name: "set", label: "Labels to set", kind: "pairs", placeholder: "tier=edge" },
            { name: "unset", label: "Labels to remove", kind: "lines", placeholder: "legacy", hint: "One key a line." },
          ]}
        />
      )}
    </Dialog>
  );
}

const Preview = ({ of: { matched, updated }, onBack, onChange }: { of: Report; onBack: () => void; onChange: () => void }) => (
  <>
    <p>
      {matched} {matched === 1 ? "agent has" : "agents have"} these labels, and {updated} would change. Policies and rollouts by labels follow.
    </p>
    <div class="dialog-actions">
      <button type="button" onClick={onBack}>
        Back
      </button>
      <button type="button" class="primary" aria-disabled={updated === 0} onClick={onChange}>
        Change {updated}
      </button>
    </div>
  </>
);
