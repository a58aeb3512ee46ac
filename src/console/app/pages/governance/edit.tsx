import { owners } from "../../members";
import { Dialog } from "../../parts/dialog";
import { type Field, Form } from "../../parts/form";
import { type ChangeControl, type Control, STATUSES } from "./types";

type Props = { of: Control; change: ChangeControl; onClose: () => void };

export function EditControl({ of: control, change, onClose }: Props) {
  const fields: Field[] = [
    { name: "status", label: "Status", kind: "select", required: true, options: STATUSES },
    { name: "note", label: "Note", kind: "textarea", hint: "“Implemented” needs a note or evidence, “not applicable” a note that says why." },
    { name: "ownerId", label: "Owner", kind: "select", options: owners.value.map(([id]) => id), labels: Object.fromEntries(owners.value) },
    { name: "dueDate", label: "Due", kind: "date" },
  ];
  return (
    <Dialog title="Change the control" onClose={onClose}>
      <Form
        fields={fields}
        values={{ ...control }}
        submit="Save"
        onCancel={onClose}
        onSubmit={async ({ status, note = null, ownerId = null, dueDate = null }) => {
          await change({ status, note, ownerId, dueDate });
          onClose();
        }}
      />
    </Dialog>
  );
}
