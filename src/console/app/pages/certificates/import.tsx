import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import type { Written } from "../../operations";
import { Badge } from "../../parts/badge";
import { Dialog, Done } from "../../parts/dialog";
import { DropZone } from "../../parts/drop-zone";
import { type Field, Form, type Values } from "../../parts/form";

type Imported = Written<"POST", ["certificates"]>;

/** Imports what is dropped, chosen or pasted: PEM, one file or several. */
export function ImportDialog({ onClose, onImported }: { onClose: () => void; onImported: () => void }) {
  const text = useSignal("");
  const result = useSignal<Imported | undefined>(undefined);
  const take = async (files: File[]) => {
    const texts = await Promise.all(files.map(readPem));
    text.value = [text.value, ...texts].filter(Boolean).join("\n");
  };
  async function submit({ pem, privateKeyPem }: Values) {
    result.value = await write("POST", inOrganization("certificates"), { body: { pem, ...(privateKeyPem !== undefined && { privateKeyPem }) } });
    onImported();
  }
  if (result.value) return <Result of={result.value} onClose={onClose} />;
  return (
    <Dialog title="Import certificates" onClose={onClose}>
      <DropZone label="Drop files here, or choose them: PEM or DER" accept=".pem,.crt,.cer,.der,.key,.txt" onFiles={(files) => void take(files)} />
      <Form key={text.value} fields={FIELDS} values={split(text.value)} submit="Import" onSubmit={submit} onCancel={onClose} />
    </Dialog>
  );
}

const FIELDS: Field[] = [
  { name: "pem", label: "Certificates", kind: "textarea", required: true, placeholder: "-----BEGIN CERTIFICATE-----" },
  { name: "privateKeyPem", label: "Private key", kind: "textarea", hint: "Of the first certificate. It is kept sealed." },
];

/** DER begins with a sequence and a length of several bytes (X.690): it becomes the PEM that the API takes. */
async function readPem(file: File) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const isDer = bytes[0] === 0x30 && (bytes[1] ?? 0) >= 0x80;
  if (!isDer) return new TextDecoder().decode(bytes);
  const lines = bytes.toBase64().replaceAll(/.{1,64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`;
}

/** A file may hold a key beside its certificates. */
function split(text: string): Values {
  const key = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^-]*-----END \1PRIVATE KEY-----/.exec(text)?.[0];
  return { pem: key ? text.replace(key, "").trim() : text, ...(key && { privateKeyPem: key }) };
}

const Result = ({ of: { imported, duplicates, refused }, onClose }: { of: Imported; onClose: () => void }) => (
  <Dialog title="Imported" onClose={onClose}>
    <p>
      {imported.length} new, {duplicates.length} known before, {refused.length} refused.
    </p>
    <ul class="results">
      {imported.map(({ id, commonName }) => (
        <li key={id}>
          <Badge tone="good" text="new" /> {commonName}
        </li>
      ))}
      {refused.map(({ index, message }) => (
        <li key={index}>
          <Badge tone="bad" text="refused" /> Certificate {index + 1}: {message}
        </li>
      ))}
    </ul>
    <Done onClick={onClose} />
  </Dialog>
);
