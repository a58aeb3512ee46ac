import { Dialog } from "../../parts/dialog";
import { type Field, Form } from "../../parts/form";
import { type Member, ownersOf } from "../members";
import { type ChangeControl, type Control, STATUSES, type Status } from "./types";

type Props = { of: Control; members: Member[]; change: ChangeControl; onClose: () => void };

export function EditControl({ of: control, members, change, onClose }: Props) {
  const owners = ownersOf(members);
  const fields: Field[] = [
    { name: "status", label: "Status", kind: "select", required: true, options: STATUSES },
    { name: "note", label: "Note", kind: "textarea", hint: "“Implemented” needs a note or evidence, “not applicable” a note that says why." },
    { name: "ownerId", label: "Owner", kind: "select", options: owners.map(([id]) => id), labels: Object.fromEntries(owners) },
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
          await change({ status: status as Status, note: note as string | null, ownerId: ownerId as string | null, dueDate: dueDate as string | null });
          onClose();
        }}
      />
    </Dialog>
  );
}
