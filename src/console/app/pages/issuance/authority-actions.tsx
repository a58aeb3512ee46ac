import { useSignal } from "@preact/signals";
import { below, inOrganization, write } from "../../api";
import { ConfirmDialog } from "../../parts/confirm";
import { Dialog } from "../../parts/dialog";
import { type Field, Form, type Values } from "../../parts/form";
import { toast, toastError } from "../../parts/toast";
import { go, link } from "../../router";
import type { Authority } from "./types";

const FIELDS: Field[] = [
  { name: "name", label: "Name", kind: "text", required: true },
  { name: "publicUrl", label: "Public address", kind: "text", required: true, hint: "In certificates that it issues from now on." },
  { name: "profiles", label: "Profiles", kind: "json", required: true, hint: "What it issues: they replace those before. Lifetimes are in seconds." },
];

export function AuthorityActions({ of, onDone }: { of: Authority; onDone: () => void }) {
  const open = useSignal<"edit" | "certificate" | "delete" | undefined>(undefined);
  const path = inOrganization("authorities", of.id);
  const { version, status } = of;
  const close = () => {
    open.value = undefined;
  };
  async function patch(body: Values, done: string) {
    await write("PATCH", path, { body, version });
    close();
    toast(done);
    onDone();
  }
  async function activate(body: Values) {
    await write("POST", below(path, "certificate"), { body, version, resource: path });
    close();
    toast("It is active, and issues.");
    onDone();
  }
  async function remove() {
    await write("DELETE", path, { version });
    toast(`${of.name} is deleted.`);
    go(link("authorities"));
  }
  const isDisabled = status === "disabled";
  return (
    <>
      <button type="button" class="danger" onClick={() => (open.value = "delete")}>
        Delete
      </button>
      {(status === "active" || isDisabled) && (
        <button type="button" onClick={() => void patch({ enabled: isDisabled }, isDisabled ? "It issues again." : "It issues nothing now.").catch(toastError)}>
          {isDisabled ? "Enable" : "Disable"}
        </button>
      )}
      <button type="button" onClick={() => (open.value = "edit")}>
        Change
      </button>
      {status === "pending" && (
        <button type="button" class="primary" onClick={() => (open.value = "certificate")}>
          Send its certificate
        </button>
      )}
      {open.value === "edit" && (
        <Dialog title="Change the authority" onClose={close}>
          <Form submit="Save" values={of} onCancel={close} onSubmit={(body) => patch(body, "Saved.")} fields={FIELDS} />
        </Dialog>
      )}
      {open.value === "certificate" && (
        <Dialog title="Send its certificate" onClose={close}>
          <Form
            submit="Send"
            onCancel={close}
            onSubmit={activate}
            fields={[{ name: "pem", label: "Certificate", kind: "textarea", required: true, hint: "PEM: what was made of the request, then those above it." }]}
          />
        </Dialog>
      )}
      {open.value === "delete" && (
        <ConfirmDialog title={`Delete ${of.name}?`} submit="Delete" onConfirm={remove} onClose={close}>
          Its key is gone with it, for good. Disable it where it shall only issue no more.
        </ConfirmDialog>
      )}
    </>
  );
}
