import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { ORDER_TONES } from "../issuance/types";
import type { Certificate } from "./types";

const NOTHING = <EmptyState title="Nothing was ordered for it." hint="It was imported, or an agent found it. Renewing it here makes an order." />;

/** The orders for the certificate's first name; without one, nothing can have been ordered. */
export function Orders({ of }: { of: Certificate }) {
  const { dns, ip } = of.subjectAlternativeNames;
  const name = dns[0] ?? ip[0];
  return name === undefined ? NOTHING : <OrdersFor name={name} />;
}

function OrdersFor({ name }: { name: string }) {
  const pages = usePages(inOrganization("certificate-requests"), { name });
  return (
    <DataTable
      label="Orders"
      from={pages}
      id={({ id }) => id}
      href={({ id }) => link(`orders/${id}`)}
      columns={[
        { label: "Names", cell: ({ names }) => names.join(", ") },
        { label: "Status", cell: ({ status }) => <Badge tone={ORDER_TONES[status]} text={status} /> },
        { label: "Made", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
      ]}
      empty={NOTHING}
    />
  );
}
