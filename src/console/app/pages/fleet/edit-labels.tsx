import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { Dialog } from "../../parts/dialog";
import { Card } from "../../parts/facts";
import { Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { LabelList } from "./states";
import type { Agent, Labels } from "./types";

/** Returns what makes `after` of `before`: the labels to set, and the keys to remove. */
function compareLabels(before: Labels, after: Values) {
  const set = Object.fromEntries(Object.entries(after).filter(([key, value]) => before[key] !== value));
  const unset = Object.keys(before).filter((key) => !(key in after));
  return { set, unset };
}

export function EditLabels({ of: agent, onDone }: { of: Agent; onDone: () => void }) {
  const isOpen = useSignal(false);
  const toggle = (open: boolean) => {
    isOpen.value = open;
  };
  async function save({ labels }: Values) {
    const { set, unset } = compareLabels(agent.labels, Object(labels));
    if (Object.keys(set).length + unset.length > 0) {
      await write("POST", inOrganization("fleet-operations", "bulk-label-update"), { body: { agentIds: [agent.id], set, unset } });
      toast("The labels are changed.");
      onDone();
    }
    toggle(false);
  }
  return (
    <Card
      title="Labels"
      hint="Policies and rollouts choose agents by them."
      actions={
        isAdmin.value && (
          <button type="button" onClick={() => toggle(true)}>
            Edit labels
          </button>
        )
      }
    >
      <LabelList of={agent.labels} />
      {isOpen.value && (
        <Dialog title="Edit labels" onClose={() => toggle(false)}>
          <Form
            submit="Save"
            values={{ labels: agent.labels }}
            onCancel={() => toggle(false)}
            onSubmit={save}
            fields={[{ name: "labels", label: "Labels", kind: "pairs", hint: "One a line: key=value. A line that you remove takes its label away." }]}
          />
        </Dialog>
      )}
    </Card>
  );
}
