import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { ConfirmDialog } from "../../parts/confirm";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";
import type { Agent } from "./types";

export function AgentActions({ of: agent, onDone }: { of: Agent; onDone: () => void }) {
  const open = useSignal<"rename" | "delete" | undefined>(undefined);
  const path = inOrganization("agents", agent.id);
  const close = () => {
    open.value = undefined;
  };
  async function rename(body: Values) {
    await write("PATCH", path, { body, version: agent.version });
    close();
    toast("The agent is renamed.");
    onDone();
  }
  async function remove() {
    await write("DELETE", path, { version: agent.version });
    toast(`${agent.name} is deleted.`);
    go(link("agents"));
  }
  return (
    <>
      <button type="button" onClick={() => (open.value = "rename")}>
        Rename
      </button>
      <button type="button" class="danger" onClick={() => (open.value = "delete")}>
        Delete
      </button>
      <a class="button primary" href={link(`agents/${agent.id}/assign`)}>
        <Icon name="plus" /> Assign a certificate
      </a>
      {open.value === "rename" && (
        <Dialog title="Rename the agent" onClose={close}>
          <Form
            submit="Rename"
            values={{ name: agent.name }}
            onCancel={close}
            onSubmit={rename}
            fields={[{ name: "name", label: "Name", kind: "text", required: true }]}
          />
        </Dialog>
      )}
      {open.value === "delete" && (
        <ConfirmDialog title={`Delete ${agent.name}?`} submit="Delete" onConfirm={remove} onClose={close}>
          Its assignments go with it, and its credentials are refused from then on. What it installed stays on the host.
        </ConfirmDialog>
      )}
    </>
  );
}
