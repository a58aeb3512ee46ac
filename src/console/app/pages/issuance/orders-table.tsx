import { inOrganization } from "../../api";
import { Badge } from "../../parts/badge";
import { EmptyState } from "../../parts/empty";
import { type Column, DataTable } from "../../parts/table";
import { Time } from "../../parts/time";
import { usePages } from "../../reading";
import { link } from "../../router";
import { ORDER_TONES, type Order } from "./types";

const COLUMNS: Column<Order>[] = [
  { label: "Names", cell: ({ names }) => <span title={names.join(", ")}>{names.join(", ")}</span> },
  { label: "Status", cell: (row) => <OrderStatus of={row} /> },
  { label: "Why", cell: ({ reason }) => (reason === null ? <span class="none">none</span> : <span title={reason}>{reason}</span>) },
  { label: "Made", cell: ({ createdAt }) => <Time at={createdAt} relative /> },
];

export const OrderStatus = ({ of: { status, approval } }: { of: Order }) =>
  approval === "awaited" && status === "pending" ? (
    <Badge tone="warn" icon="people" text="awaits approval" />
  ) : (
    <Badge tone={ORDER_TONES[status]} text={status} />
  );

/** Orders of certificates, newest first. */
export function OrdersTable({ query }: { query: Record<string, string | undefined> }) {
  const pages = usePages(inOrganization("certificate-requests"), query);
  return (
    <DataTable
      label="Orders"
      columns={COLUMNS}
      from={pages}
      id={({ id }) => id}
      href={({ id }) => link(`orders/${id}`)}
      empty={
        <EmptyState
          title="There are no such orders."
          hint="An order names what the certificate is for, and where its key is."
          action={{ label: "Order a certificate", href: link("orders/new") }}
        />
      }
    />
  );
}
