import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { inOrganization } from "../../api";
import { Loaded } from "../../parts/empty";
import { type Field, Form, type Values } from "../../parts/form";
import { useRead } from "../../reading";
import { place } from "../../router";
import { CertificateChoice } from "../certificates/choice";
import { configFields, readConfig, storeNotes } from "./config";
import type { Store } from "./types";

type Props = {
  /** Chosen in the form, where it is not known before. */
  certificateId?: string;
  /** Shown before the fields of the assignment. */
  first?: Field[];
  /** … and after them. */
  last?: Field[];
  submit: string;
  onSubmit: (assignment: Values, others: Values) => Promise<unknown>;
  children?: ComponentChildren;
};

/** Chooses a certificate and a store; the store says which fields there are. */
export function AssignmentForm(props: Props) {
  const catalogue = useRead(inOrganization("certs", "trust-store-catalog"));
  const certificateId = useSignal(props.certificateId ?? place.value.query.get("certificate") ?? "");
  const type = useSignal("");
  return (
    <Loaded from={catalogue}>
      {({ items }) => (
        <div class="form">
          {props.certificateId === undefined && <CertificateChoice label="Certificate" chosen={certificateId} />}
          <StoreSelect stores={items} chosen={type} />
          {type.value && certificateId.value && (
            <Details
              key={type.value}
              {...props}
              certificateId={certificateId.value}
              store={items.find(({ trustStoreType }) => trustStoreType === type.value)}
            />
          )}
        </div>
      )}
    </Loaded>
  );
}

export function StoreSelect({ stores, chosen }: { stores: Store[]; chosen: Signal<string> }) {
  const id = useId();
  const groups = [
    ["Installed by Certitude's agent", stores.filter(({ agentInstallable }) => agentInstallable)],
    ["Installed by other means", stores.filter(({ agentInstallable }) => !agentInstallable)],
  ] as const;
  return (
    <div class="field">
      <label for={id}>Store</label>
      <select id={id} required value={chosen.value} onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}>
        <option value="">Choose…</option>
        {groups.map(([label, each]) => (
          <optgroup key={label} label={label}>
            {each.map(({ trustStoreType, displayName }) => (
              <option key={trustStoreType} value={trustStoreType}>
                {displayName}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      {chosen.value && <p class="fine">{storeNotes(chosen.value)}</p>}
    </div>
  );
}

function Details({
  first = [],
  last = [],
  submit,
  onSubmit,
  children,
  certificateId,
  store,
}: Omit<Props, "certificateId"> & { certificateId: string; store: Store | undefined }) {
  if (!store) return null;
  const { trustStoreType, materialTypes } = store;
  async function handle({ applicationId, materialType, includePrivateKey, autoRenewed, ...rest }: Values) {
    const config = readConfig(trustStoreType, rest);
    const assignment = { applicationId, certificateId, trustStoreType, materialType, includePrivateKey, autoRenew: autoRenewed, config };
    await onSubmit(assignment, rest);
  }
  return (
    <Form
      submit={submit}
      values={{ materialType: materialTypes[0], autoRenewed: true }}
      onSubmit={handle}
      fields={[
        ...first,
        {
          name: "applicationId",
          label: "Application",
          kind: "text",
          required: true,
          hint: "Whose certificate it is, in your words.",
          placeholder: "payments-api",
        },
        { name: "materialType", label: "Used as", kind: "select", required: true, options: materialTypes },
        { name: "includePrivateKey", label: "Send the private key, which is kept here, too", kind: "boolean" },
        { name: "autoRenewed", label: "Follow its successors", kind: "boolean", hint: "The agent installs what replaces the certificate." },
        ...configFields(trustStoreType),
        ...last,
      ]}
    >
      {children}
    </Form>
  );
}
