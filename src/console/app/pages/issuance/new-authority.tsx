import { useSignal } from "@preact/signals";
import { KEY_ALGORITHMS } from "#modules/issuance/issuing/rules/key-algorithms";
import { inOrganization, write } from "../../api";
import { Choice } from "../../parts/choice";
import { type Field, Form, type Values } from "../../parts/form";
import { FormPage } from "../../parts/form-page";
import { Select } from "../../parts/select";
import { toast } from "../../parts/toast";
import { go, link } from "../../router";

const ORIGINS = [
  ["root", "A new root, and an issuing authority below it"],
  ["issuing", "An issuing authority below one that is here"],
  ["imported", "Import one: its certificate and key"],
  ["requested", "Signed elsewhere: make a key and a request"],
] as const;
type Origin = (typeof ORIGINS)[number][0];

const NAME: Field = { name: "name", label: "Name", kind: "text", required: true, placeholder: "Example Root CA" };
const SUBJECT: Field[] = [
  { name: "commonName", label: "Common name", kind: "text", hint: "In its certificate; its name where this is empty." },
  { name: "organization", label: "Organization", kind: "text" },
  { name: "country", label: "Country", kind: "text", placeholder: "DE", hint: "Two capital letters." },
];
const KEY: Field = { name: "keyAlgorithm", label: "Key", kind: "select", options: KEY_ALGORITHMS, hint: "ecdsa-p256 where none is chosen." };
const LIFETIME: Field = { name: "lifetimeDays", label: "Days that it lives", kind: "number", hint: "3650 where it is empty, of an issuing authority 1825." };
const CONSTRAINTS: Field[] = [
  { name: "permittedDomains", label: "Domains that it may certify", kind: "lines", placeholder: "example.com", hint: "With all below them. Empty: any." },
  { name: "permittedAddresses", label: "Address ranges that it may certify", kind: "lines", placeholder: "10.0.0.0/8", hint: "Empty: any." },
];
const PUBLIC: Field = {
  name: "publicUrl",
  label: "Public address",
  kind: "text",
  placeholder: "http://pki.example.com",
  hint: "Where clients reach its CRL and OCSP.",
};
const ISSUING: Field = {
  name: "issuingName",
  label: "Name of the issuing authority below it",
  kind: "text",
  hint: "Made at once. Empty: none, and the root issues itself.",
};

const FIELDS: Record<Origin, Field[]> = {
  root: [NAME, ...SUBJECT, KEY, LIFETIME, ...CONSTRAINTS, ISSUING, PUBLIC],
  issuing: [NAME, ...SUBJECT, KEY, LIFETIME, ...CONSTRAINTS, PUBLIC],
  imported: [
    NAME,
    { name: "pem", label: "Certificate", kind: "textarea", required: true, hint: "PEM: its own, then those above it." },
    { name: "privateKeyPem", label: "Private key", kind: "textarea", required: true, hint: "PEM, not encrypted. It is sealed, and never shown again." },
    PUBLIC,
  ],
  requested: [NAME, ...SUBJECT, KEY, PUBLIC],
};

/** The body of the values, with what the API nests. */
function readAuthority(kind: Origin, values: Values, parentId: string) {
  const { commonName, organization, country, permittedDomains = [], permittedAddresses = [], issuingName, ...rest } = values;
  const lists = Object.entries({ permittedDomains, permittedAddresses }).filter(([, list]) => Array.isArray(list) && list.length > 0);
  return {
    kind,
    ...rest,
    ...(kind !== "imported" && { subject: { commonName: commonName ?? rest.name, organization, country } }),
    ...(lists.length > 0 && { nameConstraints: Object.fromEntries(lists) }),
    ...(kind === "issuing" && { parentId }),
    ...(issuingName !== undefined && { issuing: { name: issuingName, subject: { commonName: issuingName, organization, country } } }),
  };
}

export function NewAuthorityPage() {
  const origin = useSignal<Origin>("root");
  const parentId = useSignal("");
  const kind = origin.value;
  async function create(values: Values) {
    const made = await write("POST", inOrganization("authorities"), { body: readAuthority(kind, values, parentId.value) });
    toast("The authority is made.");
    go(link(`authorities/${made.id}`));
  }
  return (
    <FormPage title="New authority" back={{ label: "Authorities", href: link("authorities") }} intro="Its key is sealed, and never returned." card="Authority">
      <div class="form">
        <Select label="How it comes here" chosen={origin} options={ORIGINS} />
        {kind === "issuing" && (
          <Choice
            label="Signed by"
            path={inOrganization("authorities")}
            chosen={parentId}
            option={({ id, name, status }) => ({ id, name: `${name} (${status})` })}
          />
        )}
        {(kind !== "issuing" || parentId.value) && <Form key={kind} submit="Make the authority" onSubmit={create} fields={FIELDS[kind]} />}
      </div>
    </FormPage>
  );
}
