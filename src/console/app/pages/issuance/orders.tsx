import { isAdmin } from "../../auth/session";
import { type Filter, Filters, filterQuery } from "../../parts/filters";
import { PageHeading } from "../../parts/heading";
import { Icon } from "../../parts/icon";
import { link } from "../../router";
import { OrdersTable } from "./orders-table";
import { ORDER_TONES } from "./types";

const FILTERS: Filter[] = [
  { name: "name", label: "Name", kind: "search", placeholder: "www.example.com" },
  { name: "status", label: "Status", kind: "select", options: Object.keys(ORDER_TONES).map((status) => [status, status] as const) },
];

export const OrdersPage = () => (
  <>
    <PageHeading
      title="Orders"
      intro="Certificates that were asked of issuers, and what became of each."
      actions={
        <>
          <a class="button" href={link("orders/policy")}>
            What may be ordered
          </a>
          {isAdmin.value && (
            <a class="button primary" href={link("orders/new")}>
              <Icon name="plus" /> Order a certificate
            </a>
          )}
        </>
      }
    />
    <Filters of={FILTERS} />
    <OrdersTable query={filterQuery(FILTERS)} />
  </>
);
