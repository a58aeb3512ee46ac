import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { Dialog } from "../../parts/dialog";
import { Form, type Values } from "../../parts/form";
import { toast } from "../../parts/toast";
import { usePages, useRead } from "../../reading";
import { isAdmin } from "../../session";
import type { Certificate } from "./types";

const REASONS = [
  "unspecified",
  "keyCompromise",
  "cACompromise",
  "affiliationChanged",
  "superseded",
  "cessationOfOperation",
  "certificateHold",
  "privilegeWithdrawn",
  "aACompromise",
];

type Action = "edit" | "renew" | "revoke" | "assign";
type Props = { of: Certificate; onDone: () => void };

/** What an administrator may do with a certificate. */
export function CertificateActions({ of, onDone }: Props) {
  const open = useSignal<Action | undefined>(undefined);
  if (!isAdmin.value) return null;
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
      {of.status !== "revoked" && button("revoke", "Revoke", "danger")}
      {open.value === "edit" && <Edit {...shared} />}
      {open.value === "renew" && <Renew {...shared} />}
      {open.value === "revoke" && <Revoke {...shared} />}
      {open.value === "assign" && <Assign {...shared} />}
    </>
  );
}

type Shared = { of: Certificate; close: () => void; finish: (said: string) => void };
type Member = { userId: string | null; email: string; firstName: string | null; lastName: string | null };

function Edit({ of, close, finish }: Shared) {
  const members = usePages<Member>(inOrganization("members"));
  const known = members.rows.value.filter(({ userId }) => userId !== null);
  const labelOf = ({ email, firstName, lastName }: Member) => [firstName, lastName, `(${email})`].filter(Boolean).join(" ");
  const owner = known.find(({ userId }) => userId === of.ownerId);
  const fields = [
    { name: "owner", label: "Owner", kind: "select", options: known.map(labelOf), hint: "The owner is told before it expires." },
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
      {members.isWhole.value ? (
        <Form fields={[...fields]} values={{ ...of, owner: owner && labelOf(owner) }} submit="Save" onSubmit={save} onCancel={close} />
      ) : (
        <p class="loading">Loading…</p>
      )}
    </Dialog>
  );
}

function Renew({ of, close, finish }: Shared) {
  const issuers = usePages<{ id: string; name: string }>(inOrganization("issuers"));
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

function Revoke({ of, close, finish }: Shared) {
  async function revoke({ reason }: Values) {
    const resource = inOrganization("certificates", of.id);
    await write("POST", `${resource}/revoke`, { body: { reason }, version: of.version, resource });
    finish("Revoked.");
  }
  return (
    <Dialog title={`Revoke ${of.commonName}`} onClose={close}>
      <p>Programs that check revocation stop trusting it. Only a hold can be lifted again.</p>
      <Form
        fields={[{ name: "reason", label: "Reason", kind: "select", options: REASONS, required: true }]}
        values={{ reason: "unspecified" }}
        submit="Revoke the certificate"
        onSubmit={revoke}
        onCancel={close}
        isDangerous
      />
    </Dialog>
  );
}

type Store = { trustStoreType: string; displayName: string };

function Assign({ of, close, finish }: Shared) {
  const agents = usePages<{ id: string; name: string }>(inOrganization("agents"));
  const catalog = useRead<{ items: Store[] }>(inOrganization("certs", "trust-store-catalog"));
  const stores = catalog.data.value?.items ?? [];
  async function assign({ agent, applicationId, store, path, alias, settings }: Values) {
    const agentId = agents.rows.value.find(({ name }) => name === agent)?.id ?? "";
    const trustStoreType = stores.find(({ displayName }) => displayName === store)?.trustStoreType;
    const config = { ...(settings as object), ...(path !== undefined && { trustStorePath: path }), ...(alias !== undefined && { alias }) };
    await write("POST", inOrganization("agents", agentId, "assignments"), { body: { applicationId, certificateId: of.id, trustStoreType, config } });
    finish("Assigned. The agent installs it at its next pass.");
  }
  const fields = [
    { name: "agent", label: "Agent", kind: "select", required: true, options: agents.rows.value.map(({ name }) => name) },
    { name: "store", label: "Store", kind: "select", required: true, options: stores.map(({ displayName }) => displayName) },
    { name: "applicationId", label: "Application", kind: "text", required: true, hint: "What uses it there, such as web or payroll." },
    { name: "path", label: "Path", kind: "text", hint: "Where the store is, if it has no place of its own." },
    { name: "alias", label: "Alias", kind: "text", hint: "For stores that name their entries, such as Java's." },
    { name: "settings", label: "Other settings", kind: "json", placeholder: '{ "certFileName": "tls.crt" }' },
  ] as const;
  return (
    <Dialog title={`Assign ${of.commonName}`} onClose={close}>
      <Form fields={[...fields]} submit="Assign" onSubmit={assign} onCancel={close} />
    </Dialog>
  );
}
