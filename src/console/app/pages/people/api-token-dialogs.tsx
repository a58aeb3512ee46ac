import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { Code } from "../../parts/copy";
import { Dialog, Done } from "../../parts/dialog";
import { type Field, Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { ROLE } from "./roles";
import type { ApiToken } from "./types";

type Props = { onClose: () => void; onDone: () => void };

const FIELDS: Field[] = [
  { name: "name", label: "Name", kind: "text", required: true, hint: "What it is for.", placeholder: "Deployment pipeline" },
  { ...ROLE, hint: "What it may do, as a member with this role." },
  { name: "expiresAt", label: "Ends", kind: "datetime", hint: "In your time zone. Without it the token never ends." },
];

/** The text of a new token is shown once. */
export function TokenDialog({ onClose, onDone }: Props) {
  const made = useSignal("");
  async function make(values: Values) {
    const { token } = await write("POST", inOrganization("api-tokens"), { body: values });
    made.value = token;
    onDone();
  }
  if (made.value)
    return (
      <Dialog title="Your new token" onClose={onClose}>
        <p class="dialog-hint">Copy it now, and keep it like a password: it is shown this once.</p>
        <Code text={made.value} label="Copy the token" />
        <Done onClick={onClose} />
      </Dialog>
    );
  return (
    <Dialog title="Make an API token" onClose={onClose}>
      <Form fields={FIELDS} values={{ role: "ORG_MEMBER" }} submit="Make the token" onSubmit={make} onCancel={onClose} />
    </Dialog>
  );
}

export function RevokeTokenDialog({ token: { id, name, version }, onClose, onDone }: Props & { token: ApiToken }) {
  async function revoke() {
    await write("DELETE", inOrganization("api-tokens", id), { version });
    onDone();
    onClose();
    toast(`${name} is revoked.`);
  }
  return (
    <Dialog title={`Revoke ${name}?`} onClose={onClose}>
      <p class="dialog-hint">Every server refuses it from now on. Programs that use it stop working.</p>
      <Form fields={[]} submit="Revoke" isDangerous onSubmit={revoke} onCancel={onClose} />
    </Dialog>
  );
}
