import { inOrganization, write } from "../../api";
import { Loaded } from "../../parts/empty";
import { Card, Facts } from "../../parts/facts";
import { type Field, Form, type Values } from "../../parts/form";
import { PageHeading } from "../../parts/heading";
import { toast } from "../../parts/toast";
import { useRead } from "../../reading";
import { link } from "../../router";
import { isAdmin } from "../../session";

type Policy = {
  allowedDomains: string[] | null;
  allowedAddresses: string[] | null;
  allowedKeyAlgorithms: string[] | null;
  allowedKeyLocations: string[] | null;
  needsApproval: boolean;
  version: number;
};
const LISTS: Field[] = [
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
];
const APPROVAL: Field = { name: "needsApproval", label: "Another administrator than its author approves each order", kind: "boolean" };

export function IssuancePolicyPage() {
  const reading = useRead<Policy>(inOrganization("issuance-policy"));
  async function save(values: Values, version: number) {
    const lists = LISTS.map(({ name }) => [name, (values[name] as string[]).length === 0 ? null : values[name]]);
    const body = { ...Object.fromEntries(lists), needsApproval: values.needsApproval };
    await write("PUT", inOrganization("issuance-policy"), { body, version });
    toast("Saved: it counts for orders that are made from now on.");
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
      </div>
    </>
  );
}

const Shown = ({ of }: { of: Policy }) => (
  <Facts
    of={[
      ...LISTS.map(({ name, label }) => [label, (of[name as "allowedDomains"] ?? ["all"]).join(", ")] as const),
      ["Approval", of.needsApproval ? "By another administrator" : "Not needed"] as const,
    ]}
  />
);
