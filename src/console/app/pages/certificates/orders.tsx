import { inOrganization } from "../../api";
import { Badge, type Tone } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import type { Certificate } from "./types";

type Order = { id: string; names: string[]; status: string; reason: string | null; createdAt: string };

const TONES: Record<string, Tone> = { pending: "info", validating: "info", issuing: "info", issued: "good", failed: "bad", cancelled: "calm" };

const NOTHING = <EmptyState title="Nothing was ordered for it." hint="It was imported, or an agent found it. Renewing it here makes an order." />;

/** The orders for the certificate's first name; without one, nothing can have been ordered. */
export function Orders({ of }: { of: Certificate }) {
  const { dns, ip } = of.subjectAlternativeNames;
  const name = dns[0] ?? ip[0];
  return name === undefined ? NOTHING : <OrdersFor name={name} />;
}

function OrdersFor({ name }: { name: string }) {
  const pages = usePages<Order>(inOrganization("certificate-requests"), { name });
  return (
    <DataTable
      label="Orders"
      from={pages}
      id={({ id }) => id}
      href={({ id }) => link(`orders/${id}`)}
      columns={[
        { label: "Names", cell: ({ names }) => names.join(", ") },
        { label: "Status", cell: ({ status }) => <Badge tone={TONES[status] ?? "calm"} text={status} /> },
        { label: "Made", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
      ]}
      empty={NOTHING}
    />
  );
}
