import { useSignal } from "@preact/signals";
import { KEY_ALGORITHMS } from "#modules/issuance/issuing/rules/key-algorithms";
import { inOrganization, write } from "../../api";
import { Choice } from "../../parts/choice";
import { Loaded } from "../../parts/empty";
import { type Field, Form, type Values } from "../../parts/form";
import { FormPage } from "../../parts/form-page";
import { Select } from "../../parts/select";
import { toast } from "../../parts/toast";
import { useRead } from "../../reading";
import { go, link, place } from "../../router";
import { StoreSelect } from "../fleet/assignment-form";
import { configFields, readConfig } from "../fleet/config";
import { KINDS } from "./types";

const LOCATIONS = [
  ["server", "Here, sealed"],
  ["agent", "On a host, which it never leaves"],
  ["csr", "With me: I send a CSR"],
] as const;

export function NewOrderPage() {
  const catalogue = useRead(inOrganization("certs", "trust-store-catalog"));
  const issuerId = useSignal(place.value.query.get("issuer") ?? "");
  const location = useSignal<(typeof LOCATIONS)[number][0]>("server");
  const agentId = useSignal("");
  const store = useSignal("");
  const isOnHost = location.value === "agent";
  async function order({ names, algorithm, csrPem, profile, autoRenew, renewAt, applicationId, ...config }: Values) {
    const deployment = { agentId: agentId.value, applicationId, trustStoreType: store.value, config: readConfig(store.value, config) };
    const key = { location: location.value, ...(algorithm !== undefined && { algorithm }) };
    const body = { issuerId: issuerId.value, names, key, csrPem, profile, autoRenew, renewAt, ...(isOnHost && { deployment }) };
    const { id } = await write("POST", inOrganization("certificate-requests"), { body });
    toast("Ordered. Each step is shown here.");
    go(link(`orders/${id}`));
  }
  return (
    <FormPage
      title="Order a certificate"
      back={{ label: "Orders", href: link("orders") }}
      intro="It is proven, issued and stored in the background."
      card="Order"
    >
      <div class="form">
        <Choice label="Issuer" path={inOrganization("issuers")} chosen={issuerId} option={({ id, name, kind }) => ({ id, name: `${name} (${KINDS[kind]})` })} />
        <Select label="Where the private key is made" chosen={location} options={LOCATIONS} />
        {isOnHost && (
          <>
            <Choice label="Host" path={inOrganization("agents")} chosen={agentId} option={({ id, name }) => ({ id, name })} />
            <Loaded from={catalogue}>
              {({ items }) => <StoreSelect stores={items.filter(({ materialTypes }) => materialTypes.includes("server_certificate"))} chosen={store} />}
            </Loaded>
          </>
        )}
        {issuerId.value && (!isOnHost || (agentId.value && store.value)) && (
          <Form
            key={`${location.value} ${store.value}`}
            submit="Order"
            values={{ autoRenew: true }}
            onSubmit={order}
            fields={fieldsFor(location.value, store.value)}
          />
        )}
      </div>
    </FormPage>
  );
}

const fieldsFor = (location: string, store: string): Field[] => [
  {
    name: "names",
    label: "Names",
    kind: "lines",
    required: true,
    placeholder: "www.example.com",
    hint: "DNS names and IP addresses, one a line; a wildcard is *. and a domain.",
  },
  ...(location === "csr"
    ? [{ name: "csrPem", label: "CSR", kind: "textarea", required: true, hint: "PEM, of exactly these names." } as const]
    : [{ name: "algorithm", label: "Key", kind: "select", options: KEY_ALGORITHMS, hint: "ecdsa-p256 where none is chosen." } as const]),
  { name: "profile", label: "Profile", kind: "text", hint: "In place of the issuer's." },
  { name: "autoRenew", label: "Renew it by itself", kind: "boolean" },
  { name: "renewAt", label: "Renew at", kind: "datetime", hint: "At two thirds of its lifetime where it is empty." },
  ...(location === "agent" ? [{ name: "applicationId", label: "Application", kind: "text", required: true } as const, ...configFields(store)] : []),
];
