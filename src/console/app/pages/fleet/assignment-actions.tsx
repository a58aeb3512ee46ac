import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { toast, toastError } from "../../parts/toast";
import { go, link } from "../../router";
import { configFields, patchConfig, readConfig, showConfig } from "./config";
import type { Assignment } from "./types";

type Props = { of: Assignment; onDone: () => void };

export function AssignmentActions({ of, onDone }: Props) {
  const open = useSignal<"edit" | "delete" | undefined>(undefined);
  const path = inOrganization("agents", of.agentId, "assignments", of.id);
  const { version } = of;
  if (of.policyId !== null) return null;
  function close() {
    open.value = undefined;
  }
  async function save({ applicationId, includePrivateKey, autoRenewed, ...rest }: Values) {
    const config = patchConfig(of.config, readConfig(of.trustStoreType, rest));
    await write("PATCH", path, { body: { applicationId, includePrivateKey, autoRenew: autoRenewed, config }, version });
    close();
    toast("Saved: the agent follows at its next pass.");
    onDone();
  }
  function toggle() {
    write("PATCH", path, { body: { enabled: !of.enabled }, version }).then(() => {
      toast(of.enabled ? "Switched off: the agent takes it out." : "Switched on.");
      onDone();
    }, toastError);
  }
  async function remove({ reason }: Values) {
    const query = reason === undefined ? {} : { force: true, reason: String(reason) };
    const removing = await write<Assignment | undefined>("DELETE", path, { version, query });
    close();
    toast(removing ? "It is deleted once the agent says that it is gone from the host." : "The assignment is deleted.");
    if (removing) onDone();
    else go(link(`agents/${of.agentId}`));
  }
  return (
    <>
      {!of.removingSince && (
        <>
          <button type="button" onClick={toggle}>
            {of.enabled ? "Switch off" : "Switch on"}
          </button>
          <button type="button" onClick={() => (open.value = "edit")}>
            Change
          </button>
        </>
      )}
      <button type="button" class="danger" onClick={() => (open.value = "delete")}>
        Remove
      </button>
      {open.value === "edit" && (
        <Dialog title="Change the assignment" onClose={close}>
          <Form
            submit="Save"
            values={{ applicationId: of.applicationId, includePrivateKey: of.includePrivateKey, autoRenewed: of.autoRenew, ...showConfig(of.config) }}
            onCancel={close}
            onSubmit={save}
            fields={editable(of)}
          />
        </Dialog>
      )}
      {open.value === "delete" && (
        <Dialog title="Remove the assignment?" onClose={close}>
          <Form
            submit="Remove"
            isDangerous
            onCancel={close}
            onSubmit={remove}
            fields={[
              {
                name: "reason",
                label: "Why it is deleted without the agent's word",
                kind: "text",
                hint: "Leave this empty, and the agent first takes the certificate out of the store. With a reason it is deleted at once, as for a host that is gone.",
              },
            ]}
          />
        </Dialog>
      )}
    </>
  );
}

const editable = ({ trustStoreType, keyOnHost }: Assignment) => [
  { name: "applicationId", label: "Application", kind: "text", required: true } as const,
  ...(keyOnHost ? [] : [{ name: "includePrivateKey", label: "Send the private key", kind: "boolean" } as const]),
  { name: "autoRenewed", label: "Follow its successors", kind: "boolean" } as const,
  ...configFields(trustStoreType),
];
