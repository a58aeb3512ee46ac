import { useSignal } from "@preact/signals";
import { inOrganization, write } from "../../api";
import { isAdmin } from "../../auth/session";
import { Dialog } from "../../parts/dialog";
import { Loaded } from "../../parts/empty";
import { Card, Facts } from "../../parts/facts";
import { type Field, Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { UtcTime } from "../../parts/time";
import { toast, toastError } from "../../parts/toast";
import { useRead } from "../../reading";
import { link } from "../../router";
import { ActorName } from "../people/actor";
import type { Policy, Proposal } from "./types";

const LISTS = [
  {
    name: "allowedDomains",
    label: "Domains",
    kind: "lines",
    placeholder: "*.example.com",
    hint: "example.com is this name alone, *.example.com all below it. Empty: all.",
  },
  { name: "allowedAddresses", label: "Addresses and networks", kind: "lines", placeholder: "10.0.0.0/8", hint: "Empty: all." },
  { name: "allowedKeyAlgorithms", label: "Kinds of keys", kind: "lines", placeholder: "ecdsa-p256", hint: "Such as ecdsa-p256, rsa-3072. Empty: all." },
  { name: "allowedKeyLocations", label: "Places of keys", kind: "lines", placeholder: "agent", hint: "agent, server, csr. Empty: all." },
] as const satisfies Field[];
const APPROVAL: Field = { name: "needsApproval", label: "Another administrator than its author approves each order", kind: "boolean" };

export function IssuancePolicyPage() {
  const reading = useRead(inOrganization("issuance-policy"));
  async function save(values: Values, version: number) {
    const lists = LISTS.map(({ name }) => [name, [values[name] ?? []].flat().length === 0 ? null : values[name]]);
    const body = { ...Object.fromEntries(lists), needsApproval: values.needsApproval };
    const { proposal } = await write("PUT", inOrganization("issuance-policy"), { body, version });
    toast(proposal ? "What allows more waits for another administrator." : "Saved: it counts for orders that are made from now on.");
    await reading.reload();
  }
  return (
    <>
      <PageHeading
        title="What may be ordered"
        back={{ label: "Orders", href: link("orders") }}
        intro="The issuance policy counts for orders that are made after it."
      />
      <div class="narrow-form">
        <Card title="Issuance policy">
          <Loaded from={reading}>
            {(policy) =>
              isAdmin.value ? (
                <Form key={policy.version} submit="Save" values={policy} onSubmit={(values) => save(values, policy.version)} fields={[...LISTS, APPROVAL]} />
              ) : (
                <Shown of={policy} />
              )
            }
          </Loaded>
        </Card>
        <Loaded from={reading}>{({ proposal }) => proposal && <Proposed key={proposal.id} of={proposal} onDone={() => reading.reload()} />}</Loaded>
      </div>
    </>
  );
}

/** A policy that allows more, for another administrator to approve or refuse. */
function Proposed({ of, onDone }: { of: Proposal; onDone: () => Promise<unknown> }) {
  const isRefusing = useSignal(false);
  async function decide(action: "approve" | "refuse", body?: Values) {
    await write("POST", inOrganization("issuance-policy", "proposals", of.id, action), { ...(body && { body }) });
    toast(action === "approve" ? "Approved." : "Refused: the policy stays as it is.");
    await onDone();
  }
  return (
    <Card title="Waits for another administrator">
      <p>
        Proposed by <ActorName of={of.proposedBy} /> <UtcTime at={of.proposedAt} />. To take it back, save the policy as it is.
      </p>
      <Shown of={of} />
      {isAdmin.value && (
        <p>
          <button type="button" onClick={() => (isRefusing.value = true)}>
            Refuse
          </button>{" "}
          <button type="button" class="primary" onClick={() => void decide("approve").catch(toastError)}>
            Approve
          </button>
        </p>
      )}
      {isRefusing.value && (
        <Dialog title="Refuse the policy" onClose={() => (isRefusing.value = false)}>
          <Form
            submit="Refuse"
            isDangerous
            onCancel={() => (isRefusing.value = false)}
            onSubmit={(body) => decide("refuse", body)}
            fields={[{ name: "reason", label: "Why", kind: "text", required: true, hint: "The audit trail keeps it." }]}
          />
        </Dialog>
      )}
    </Card>
  );
}

const Shown = ({ of }: { of: Policy | Proposal }) => (
  <Facts
    of={[
      ...LISTS.map(({ name, label }) => [label, (of[name] ?? ["all"]).join(", ")] as const),
      ["Approval", of.needsApproval ? "By another administrator" : "Not needed"] as const,
    ]}
  />
);
