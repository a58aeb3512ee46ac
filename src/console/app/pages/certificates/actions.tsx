import { useSignal } from "@preact/signals";
import { REVOCATION_REASONS } from "#modules/certificates/certificates/rules/revocation-reasons";
import { below, inOrganization, write } from "../../api";
import { type Member, useMembers } from "../../members";
import { Dialog } from "../../parts/dialog";
import { Loaded } from "../../parts/empty";
import { Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { usePages } from "../../reading";
import { Assign } from "./assign";
import { ChangeStatus } from "./status";
import type { ActionDialog, CertificateWithPem } from "./types";

type Action = "edit" | "renew" | "revoke" | "reinstate" | "retire" | "return" | "assign";
type Props = { of: CertificateWithPem; onDone: () => void };

/** Buttons of a certificate, for administrators. */
export function CertificateActions({ of, onDone }: Props) {
  const open = useSignal<Action | undefined>(undefined);
  const close = () => {
    open.value = undefined;
  };
  const finish = (said: string) => {
    close();
    toast(said);
    onDone();
  };
  const button = (action: Action, label: string, kind = "") => (
    <button
      type="button"
      class={kind}
      onClick={() => {
        open.value = action;
      }}
    >
      {label}
    </button>
  );
  const shared = { of, close, finish };
  return (
    <>
      {button("edit", "Owner and labels")}
      {of.status === "active" && button("assign", "Assign")}
      {(of.status === "active" || of.status === "expired") && button("renew", "Renew")}
      {of.revocationReason === "certificateHold" && button("reinstate", "Reinstate")}
      {of.retiredAt === null ? button("retire", "Retire") : of.revokedAt === null && button("return", "Bring back")}
      {of.revokedAt === null && button("revoke", "Revoke", "danger")}
      {open.value === "edit" && <Edit {...shared} />}
      {open.value === "renew" && <Renew {...shared} />}
      {open.value === "revoke" && <Revoke {...shared} />}
      {(open.value === "reinstate" || open.value === "retire" || open.value === "return") && <ChangeStatus {...shared} pem={of.pem} action={open.value} />}
      {open.value === "assign" && (
        <Dialog title={`Assign ${of.commonName}`} onClose={close}>
          <Assign of={of} onAssigned={() => finish("Assigned. The agent installs it at its next pass.")} />
        </Dialog>
      )}
    </>
  );
}

function Edit({ of, close, finish }: ActionDialog) {
  const members = useMembers();
  const known = members.data.value?.filter(({ userId }) => userId !== null) ?? [];
  const labelOf = ({ email, firstName, lastName }: Member) => [firstName, lastName, `(${email})`].filter(Boolean).join(" ");
  const owner = known.find(({ userId }) => userId === of.ownerId);
  const fields = [
    { name: "owner", label: "Owner", kind: "select", options: known.map(labelOf), hint: "The owner is notified before it expires." },
    { name: "contacts", label: "Contacts", kind: "lines", hint: "An e-mail address in each line." },
    { name: "labels", label: "Labels", kind: "pairs" },
    { name: "notes", label: "Notes", kind: "textarea" },
  ] as const;
  async function save({ owner: chosen, contacts, labels, notes }: Values) {
    const ownerId = chosen === undefined ? null : known.find((member) => labelOf(member) === chosen)?.userId;
    await write("PATCH", inOrganization("certificates", of.id), { body: { ownerId, contacts, labels, notes: notes ?? null }, version: of.version });
    finish("Saved.");
  }
  return (
    <Dialog title="Owner and labels" onClose={close}>
      <Loaded from={members}>
        {() => <Form fields={[...fields]} values={{ ...of, owner: owner && labelOf(owner) }} submit="Save" onSubmit={save} onCancel={close} />}
      </Loaded>
    </Dialog>
  );
}

function Renew({ of, close, finish }: ActionDialog) {
  const issuers = usePages(inOrganization("issuers"));
  async function renew({ issuer, reuseKey }: Values) {
    const issuerId = issuers.rows.value.find(({ name }) => name === issuer)?.id;
    await write("POST", inOrganization("certificates", of.id, "renew"), { body: { ...(issuerId && { issuerId }), reuseKey } });
    finish("Ordered. The new certificate takes the place of this one when it is issued.");
  }
  const fields = [
    {
      name: "issuer",
      label: "Issuer",
      kind: "select",
      options: issuers.rows.value.map(({ name }) => name),
      hint: "Without one: the issuer that it came from.",
    },
    { name: "reuseKey", label: "Keep the private key", kind: "boolean" },
  ] as const;
  return (
    <Dialog title={`Renew ${of.commonName}`} onClose={close}>
      <Form fields={[...fields]} submit="Order the renewal" onSubmit={renew} onCancel={close} />
    </Dialog>
  );
}

function Revoke({ of, close, finish }: ActionDialog) {
  async function revoke({ reason }: Values) {
    const resource = inOrganization("certificates", of.id);
    await write("POST", below(resource, "revoke"), { body: { reason }, version: of.version, resource });
    finish("Revoked.");
  }
  return (
    <Dialog title={`Revoke ${of.commonName}`} onClose={close}>
      <p>Programs that check revocation stop trusting it. Only a hold can be lifted again.</p>
      <Form
        fields={[{ name: "reason", label: "Reason", kind: "select", options: REVOCATION_REASONS, required: true }]}
        values={{ reason: "unspecified" }}
        submit="Revoke the certificate"
        onSubmit={revoke}
        onCancel={close}
        isDangerous
      />
    </Dialog>
  );
}
