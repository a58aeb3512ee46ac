import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { Dialog } from "../../parts/dialog";
import { changesOf } from "../../parts/fields";
import { Form, type Values } from "../../parts/form";
import { toast, toastError } from "../../parts/toast";
import { go, link } from "../../router";
import { configFields, readConfig, showConfig } from "./config";
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
  async function save(values: Values) {
    await write("PATCH", path, { body: assignmentPatch(of, values), version });
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
    const removing = await write("DELETE", path, { version, query });
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
          <Form submit="Save" values={assignmentValues(of)} onCancel={close} onSubmit={save} fields={assignmentFields(of)} />
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

type Changeable = Pick<Assignment, "applicationId" | "includePrivateKey" | "autoRenew" | "trustStoreType" | "config"> & { keyOnHost?: boolean };

/** Returns the fields of an assignment, or of a policy's. "autoRenewed", because a store's config has a field "autoRenew". */
export const assignmentFields = ({ trustStoreType, keyOnHost = false }: Changeable) => [
  { name: "applicationId", label: "Application", kind: "text", required: true } as const,
  ...(keyOnHost ? [] : [{ name: "includePrivateKey", label: "Send the private key", kind: "boolean" } as const]),
  { name: "autoRenewed", label: "Follow its successors", kind: "boolean" } as const,
  ...configFields(trustStoreType),
];

export const assignmentValues = ({ applicationId, includePrivateKey, autoRenew, config }: Changeable): Values => ({
  applicationId,
  includePrivateKey,
  autoRenewed: autoRenew,
  ...showConfig(config),
});

/** The body of a change, from the values of its form. */
export const assignmentPatch = (of: Changeable, { applicationId, includePrivateKey, autoRenewed, ...rest }: Values) => ({
  applicationId,
  includePrivateKey,
  autoRenew: autoRenewed,
  config: changesOf(of.config, readConfig(of.trustStoreType, rest)),
});
