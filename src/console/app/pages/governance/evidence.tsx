import { useSignal } from "@preact/signals";
import { inOrganization, read } from "../../api";
import { isAdmin } from "../../auth/session";
import { Badge } from "../../parts/badge";
import { Dialog } from "../../parts/dialog";
import { EmptyState } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { type Field, Form } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { toastError } from "../../parts/toast";
import { link } from "../../router";
import type { ChangeControl, Control, Evidence } from "./types";

const FIELDS: Field[] = [
  { name: "title", label: "Title", kind: "text", required: true, placeholder: "Oversight procedure" },
  { name: "url", label: "Address", kind: "text", placeholder: "https://" },
  { name: "certificate", label: "Or a certificate", kind: "text", hint: "Its name or id. The control needs attention when it expires or is revoked." },
];

export function EvidenceList({ of: control, change }: { of: Control; change: ChangeControl }) {
  const isAdding = useSignal(false);
  const stored = control.evidence.map(({ certificateStatus: _, ...each }) => each);
  const close = () => {
    isAdding.value = false;
  };
  return (
    <Card
      title="Evidence"
      actions={
        isAdmin.value && (
          <button type="button" onClick={() => (isAdding.value = true)}>
            <Icon name="plus" /> Add evidence
          </button>
        )
      }
    >
      {control.evidence.length === 0 && (
        <EmptyState title="There is no evidence yet." hint="Add the address of a document, or a certificate of this organization." />
      )}
      <ul class="items">
        {control.evidence.map((each, index) => (
          <li key={`${index} ${each.title}`}>
            <OneEvidence of={each} />
            {isAdmin.value && (
              <button
                type="button"
                class="quiet"
                aria-label={`Remove ${each.title}`}
                onClick={() => void change({ evidence: stored.toSpliced(index, 1) }).catch(toastError)}
              >
                <Icon name="cross" />
              </button>
            )}
          </li>
        ))}
      </ul>
      {isAdding.value && (
        <Dialog title="Add evidence" onClose={close}>
          <Form
            fields={FIELDS}
            submit="Add"
            onCancel={close}
            onSubmit={async ({ title, url, certificate }) => {
              const reference = certificate === undefined ? {} : { certificateId: await findCertificate(String(certificate).trim()) };
              const added = { title, ...(url !== undefined && { url }), ...reference };
              await change({ evidence: [...stored, added] });
              close();
            }}
          />
        </Dialog>
      )}
    </Card>
  );
}

const OneEvidence = ({ of: { title, url, certificateId, certificateStatus } }: { of: Evidence }) => (
  <span class="item-text">
    {url !== undefined && (
      <a href={url} rel="noreferrer" target="_blank">
        {title}
      </a>
    )}
    {certificateId !== undefined && <a href={link(`certificates/${certificateId}`)}>{title}</a>}
    {certificateStatus && <Badge tone={certificateStatus === "active" ? "good" : "warn"} text={`certificate ${certificateStatus}`} />}
    {url !== undefined && <span class="fine">{URL.parse(url)?.host}</span>}
  </span>
);

/** The id of the only certificate that the text names. */
async function findCertificate(text: string) {
  if (/^[0-9a-f-]{36}$/i.test(text)) return text;
  const { items } = await read(inOrganization("certificates"), { q: text, limit: 20 });
  const exact = items.filter(({ commonName }) => commonName.toLowerCase() === text.toLowerCase());
  const [only, other] = exact.length > 0 ? exact : items;
  if (!only) throw new Error(`No certificate is called "${text}".`);
  if (other) throw new Error(`More than one certificate fits "${text}": give the whole name, or the id from its page.`);
  return only.id;
}
