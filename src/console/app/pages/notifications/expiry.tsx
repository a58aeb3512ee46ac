import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { Loaded } from "../../parts/empty";
import { Card } from "../../parts/facts";
import { Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { toast } from "../../parts/toast";
import { type Reading, useRead } from "../../reading";
import { NotificationTabs } from "./tabs";
import { Thresholds } from "./thresholds";
import type { ExpiryPolicy, Override } from "./types";

const path = () => inOrganization("certificates", "expiry-policy");

export function ExpiryPage() {
  const reading = useRead(path());
  return (
    <>
      <PageHeading title="Expiry" intro="When members are notified of certificates that expire. What renews in time is left out." />
      <NotificationTabs />
      <Loaded from={reading}>{(policy) => <PolicyForm key={policy.version} of={policy} reading={reading} />}</Loaded>
    </>
  );
}

function PolicyForm({ of, reading }: { of: ExpiryPolicy; reading: Reading<ExpiryPolicy> }) {
  const thresholds = useSignal(of.thresholds);
  const overrides = useSignal(of.overrides);
  async function save({ role }: Values) {
    await write("PUT", path(), { body: { role, thresholds: thresholds.value, overrides: overrides.value }, version: of.version });
    await reading.reload();
    toast("The policy is saved. Every certificate is judged by it within a minute.");
  }
  const change = (index: number, changed: Override) => {
    overrides.value = overrides.value.with(index, changed);
  };
  const parts = (
    <>
      <Card
        title="Days before the end"
        hint="A notice goes out once for each; of several that are reached at once, the most urgent. The share keeps short-lived certificates quiet until less than that of their lifetime is left."
      >
        <Thresholds label="All certificates" of={thresholds.value} onChange={(changed) => (thresholds.value = changed)} />
      </Card>
      <Card
        title="Exceptions"
        hint="Other days for the certificates of an issuer, with some labels, or both: the first that fits counts."
        actions={
          <button type="button" onClick={() => (overrides.value = [...overrides.value, { thresholds: of.thresholds }])}>
            Add an exception
          </button>
        }
      >
        {overrides.value.length === 0 && <p class="fine">There are none.</p>}
        {overrides.value.map((override, index) => (
          <OverrideFields
            key={index}
            number={index + 1}
            of={override}
            onChange={(changed) => change(index, changed)}
            onRemove={() => (overrides.value = overrides.value.toSpliced(index, 1))}
          />
        ))}
      </Card>
    </>
  );
  return (
    <Form
      fields={[
        {
          name: "role",
          label: "Notices of certificates without an owner go to",
          kind: "select",
          required: true,
          options: ["ORG_ADMIN", "ORG_MEMBER"],
          labels: RECIPIENTS,
        },
      ]}
      values={of}
      submit="Save"
      onSubmit={isAdmin.value ? save : refuse}
    >
      {parts}
    </Form>
  );
}

const RECIPIENTS = { ORG_ADMIN: "Administrators", ORG_MEMBER: "Every member" };

function refuse(): Promise<never> {
  return Promise.reject(new Error("Only administrators change this policy."));
}

type OverrideProps = { number: number; of: Override; onChange: (changed: Override) => void; onRemove: () => void };

function OverrideFields({ number, of, onChange, onRemove }: OverrideProps) {
  const set = (name: "issuer" | "selector", text: string) => {
    const { [name]: _, ...rest } = of;
    onChange(text === "" ? rest : { ...rest, [name]: text });
  };
  return (
    <fieldset class="group exception">
      <legend>Exception {number}</legend>
      <label>
        Issuer
        <input value={of.issuer ?? ""} placeholder="CN=Example CA,O=Example Ltd" onInput={({ currentTarget }) => set("issuer", currentTarget.value)} />
      </label>
      <label>
        Labels
        <input value={of.selector ?? ""} placeholder="env=prod,tier!=edge" onInput={({ currentTarget }) => set("selector", currentTarget.value)} />
      </label>
      <Thresholds label={`Exception ${number}`} of={of.thresholds} onChange={(thresholds) => onChange({ ...of, thresholds })} />
      <button class="quiet" type="button" onClick={onRemove}>
        Remove exception {number}
      </button>
    </fieldset>
  );
}
